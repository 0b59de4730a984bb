// Inception-V3 at 4 channels and 75 x 75 pixels, with its auxiliary head, RMSProp and moving averages, under the
// strategies that are shipped for it: every value, gradient and state of some steps is the serial one's, and the bytes
// counted are the bytes predicted. So many batch norms over so few samples multiply rounding, so each step begins where
// the serial run began it.
#include <gtest/gtest.h>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8;
constexpr int64_t kPixels = 75;
constexpr int64_t kClasses = 5;
constexpr int kSteps = 2;

NamedTensors BatchOf(int step) {
  return {SmallImages({kBatch, kPixels, kPixels, 3}, step), SmallLabels(kBatch, kClasses, step)};
}

class InceptionV3 : public testing::TestWithParam<const char*> {};

TEST_P(InceptionV3, GoesTheWayOfOneRank) {
  const std::string name = GetParam();
  const absl::StatusOr<Strategy> read = LoadStrategy("tools/models/examples/inception_v3/" + name + ".pbtxt");
  ASSERT_TRUE(read.ok()) << read.status();
  Strategy strategy = *read;
  ModelOptions options{.batch = kBatch, .image_size = kPixels, .channel_limit = 4, .classes = kClasses};
  options.auxiliary_head = true;
  if (name == "pipeline") {  // of one sample and pixel there are no statistics
    strategy.pipeline.micro_batches = 2;
    options.statistics_samples = kBatch / 2;
  }
  absl::StatusOr<Model> model = MakeModel("inception-v3", options, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->optimizer.name, "rmsprop");
  model->optimizer.average = MovingAverage{0.9};
  const absl::Status status = RunSideBySide(*model, strategy, kSteps, BatchOf, std::nullopt, /*same_beginning=*/true);
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Shipped, InceptionV3,
                         testing::Values("data", "branches", "rows", "2x2", "pipeline", "pipeline_2x2"),
                         [](const auto& strategy) { return "By_" + std::string(strategy.param); });

}  // namespace
}  // namespace partita
