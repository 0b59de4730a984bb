// Plans that were repaired so that they fit go the way of one rank.
#include "partitioner/repair/repairs.h"

#include <gtest/gtest.h>

#include <ostream>

#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"

namespace partita {
namespace {

constexpr int kSteps = 2;

struct Broken {
  std::string model;
  int data = 1, group = 1;
};
std::ostream& operator<<(std::ostream& out, const Broken& one) {
  return out << one.model << " on " << one.data << " x " << one.group;
}

class RepairedPlans : public testing::TestWithParam<Broken> {};

// All repairs that there are: none fits, so that all are tried.
TEST_P(RepairedPlans, EqualSerial) {
  const Case small{GetParam().model, "1f1b", /*regularized=*/false};  // a batch that parts into micro-batches
  const auto model = MakeSmallModel(small, 0.05);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto strategy = DataModelStrategy(model->graph, GetParam().data, GetParam().group);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const auto program = MakeProgram(*model, *strategy, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const auto none_fits = [](const Strategy&) -> absl::StatusOr<Prediction> {
    return Prediction{1, 1, ResourceExhausted("too much")};
  };
  int run = 0;
  for (const Repair& repair : FindRepairs({model->graph, *program, *strategy, 4, none_fits})) {
    SCOPED_TRACE(repair.change);
    const std::string text = PrintStrategy(repair.strategy, ProtoFormat::kText);
    const auto read = ParseStrategy(text, ProtoFormat::kText, "repaired");
    ASSERT_TRUE(read.ok()) << read.status();
    const auto batch = [&](int step) {
      const StepInputs inputs = MakeBatch(1, step, DType::kF64, BatchOf(small));
      return NamedTensors{inputs.images, inputs.labels};
    };
    const absl::Status equal = RunSideBySide(*model, *read, kSteps, batch);
    EXPECT_TRUE(equal.ok()) << equal << "\n" << text;
    ++run;
  }
  EXPECT_GE(run, 3);
}

INSTANTIATE_TEST_SUITE_P(Models, RepairedPlans,
                         testing::Values(Broken{"lenet5", 2, 1}, Broken{"mlp", 2, 2}, Broken{"mini-inception", 2, 1}));

}  // namespace
}  // namespace partita
