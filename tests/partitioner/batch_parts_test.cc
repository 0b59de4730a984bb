#include "partitioner/batch_parts.h"

#include <gtest/gtest.h>

#include "ops/registry.h"
#include "tools/models/models.h"

namespace partita {
namespace {

std::vector<int64_t> PartsOf(int64_t batch, int data) {
  const absl::StatusOr<Model> model = MakeModel("mlp", {.batch = batch}, Ops());
  EXPECT_TRUE(model.ok()) << model.status();
  return BatchParts(model->graph, data);
}

using Counts = std::vector<int64_t>;

TEST(BatchParts, DivideTheBatch) {
  EXPECT_EQ(PartsOf(1, 1), Counts{1});
  EXPECT_EQ(PartsOf(7, 1), (Counts{1, 7}));
  EXPECT_EQ(PartsOf(36, 1), (Counts{1, 2, 3, 4, 6, 9, 12, 18, 36}));
}

TEST(BatchParts, LeaveEachReplicaASample) {
  EXPECT_EQ(PartsOf(36, 4), (Counts{1, 2, 3, 4, 6, 9}));
  EXPECT_EQ(PartsOf(36, 36), Counts{1});
  EXPECT_EQ(PartsOf(3, 4), Counts{1});
}

TEST(BatchParts, AreNotTooMany) { EXPECT_EQ(PartsOf(256, 1), (Counts{1, 2, 4, 8, 16, 32, 64})); }

}  // namespace
}  // namespace partita
