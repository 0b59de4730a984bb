// The schedules of the shipped models under the shipped strategies, and under these with three times as many ranks
// along an axis, where what is split may be uneven: those of ranks that are alike are made of one another's, and are to
// the last field what is made of each rank by itself.
#include <gtest/gtest.h>

#include <iostream>

#include "graph/make_program.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/graph/alike/expect_folded.h"
#include "tests/graph/shipped/shipped.h"

namespace partita {
namespace {

class Folded : public testing::TestWithParam<Shipped> {
 protected:
  static void TearDownTestSuite() {
    std::cout << displaced_ << " schedules were those of other ranks, displaced\n";
    EXPECT_GT(displaced_, 100);
  }

  // As the host runs them, and as a GPU does: in mixed precision, updates as one launch, several streams. False if the
  // strategy is refused.
  static bool Expect(const Model& model, const Strategy& strategy) {
    const absl::StatusOr<Program> plain = MakeProgram(model, strategy, Ops());
    const absl::StatusOr<Program> mixed = MakeProgram(model, strategy, Ops(), {.mix_precision = true});
    EXPECT_EQ(plain.ok(), mixed.ok());
    if (!plain.ok() || !mixed.ok()) return false;
    displaced_ += ExpectFolded(*plain, *MakeHostKernels({.threads = 1}), {.exchange_boxes = true});
    ScheduleOptions options;
    options.compute_streams = 2;
    options.group_updates = true;
    options.overlap_halo = OverlapHalo::kOn;
    displaced_ += ExpectFolded(*mixed, *MakeHostKernels({.reference_only = true}), options);
    return true;
  }

  static inline int displaced_ = 0;
};

TEST_P(Folded, IsWhatEachRankIsByItself) {
  const absl::StatusOr<Model> model = GetParam().Load();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Strategy> shipped = GetParam().LoadSplit();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  EXPECT_TRUE(Expect(*model, *shipped));
  for (size_t axis = 0; axis < shipped->mesh.axes.size(); ++axis) {
    SCOPED_TRACE(shipped->mesh.axes[axis].name);
    Strategy wider = *shipped;
    wider.mesh.axes[axis].size *= 3;
    Expect(*model, wider);  // cuts and coordinates may be said of so many ranks alone
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Folded, testing::ValuesIn(kShipped), NameOf);

}  // namespace
}  // namespace partita
