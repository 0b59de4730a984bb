// Mixed precision: a plan in bf16 beside the serial run in bf16, and the serial run in bf16 beside the one in f32.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

ProgramOptions Mixed() { return {.mix_precision = true, .verify_passes = true}; }

SessionOptions Options(const Case& one) {
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  options.overlap_halo = one.regularized ? OverlapHalo::kOn : OverlapHalo::kOff;
  return options;
}

// What differs is the rounding of sums that are split: of a weight's gradient over samples or rows, of what layers
// split by channels add up. Nearly all of a run in bf16 is bit by bit the serial one's.
constexpr double kTolerance = 5e-2;
// Near a kink (of relu, or of max-pool, whose inputs are often equal in bf16) a step may rightly differ.
constexpr int kSteps = 6, kMostLeftOut = 1;

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* model : {"lenet5", "mlp", "mini-inception"}) {
    for (const char* strategy : {"2x1", "2x2", "placement", "gpipe", "1f1b", "micro_data", "uneven_stages"}) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
  }
  for (const char* model : {"lenet5", "mini-inception"}) {
    for (const char* strategy : {"h2w2", "d2h2", "h3"}) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
  }
  cases.push_back({"lenet5", "2x3_3x2", true});
  return cases;
}

class MixedPrecision : public testing::TestWithParam<Case> {};

// The 6 steps of one seed; `differences` are those that differ.
void RunSteps(const Case& one, const Model& model, uint64_t seed, std::vector<std::string>& differences) {
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, Mixed()));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, Mixed()));
  VerifyPlanOptions options;
  options.session = Options(one);
  options.session.tests.guard_bytes = 64;
  options.session.tests.reuse_memory = false;  // a guard behind every tensor
  options.tolerance = kTolerance;
  options.floor = 1e-1;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  differences.clear();
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(seed, step, DType::kF32, BatchOf(one));
    ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
    ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    for (const TensorDifference& tensor : comparison.tensors) EXPECT_TRUE(tensor.replicas_equal) << ToString(tensor);
    const TensorDifference* const first = comparison.First();
    if (first != nullptr) differences.push_back(fmt::format("step {}: {}", step, ToString(*first)));
  }
  EXPECT_EQ(CompareBytes(verifier->plan(), kSteps), absl::OkStatus());
  for (int rank = 0; rank < verifier->plan().ranks(); ++rank) {
    EXPECT_TRUE(verifier->plan().memory_check(rank).CheckGuards().ok());
  }
}

// Step by step from the serial run's states: values, gradients and updates; ranks that should hold the same bits do;
// the bytes counted are those predicted. What is near a kink stays near it for some steps, so that another seed may be
// needed.
TEST_P(MixedPrecision, StepsAsTheSerialRun) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-3));
  std::vector<std::string> differences(kSteps);
  for (uint64_t seed = 1; static_cast<int>(differences.size()) > kMostLeftOut; ++seed) {
    ASSERT_LE(seed, 3u) << "differences of the last seed:\n" << fmt::format("{}", fmt::join(differences, "\n"));
    RunSteps(one, model, seed, differences);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, MixedPrecision, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.Name(); });

constexpr int kLongSteps = 50, kBatches = 4;
constexpr int64_t kLongBatch = 32;

absl::StatusOr<Model> MakeLongModel(const Case& one) {
  ASSIGN_OR_RETURN(Model model, MakeSmallModel(one, 1e-2));
  ModelOptions options;
  options.batch = kLongBatch;
  options.image_size = model.graph.type(model.graph.Find("images")).shape[1];
  options.channel_limit = 8;
  options.dropout = options.batch_norm = one.regularized;
  ASSIGN_OR_RETURN(Model larger, MakeModel(one.model, options, Ops()));
  larger.optimizer = model.optimizer;
  larger.learning_rate = model.learning_rate;
  return larger;
}

// Free running on a few batches, so that the loss falls.
absl::StatusOr<std::vector<double>> Losses(const Model& model, const Case& one, const ProgramOptions& program_options) {
  ASSIGN_OR_RETURN(Program program, SerialProgram(model, program_options));
  ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(program), Options(one)));
  std::vector<double> losses;
  for (int step = 0; step < kLongSteps; ++step) {
    const StepInputs batch = MakeBatch(3, step % kBatches, DType::kF32, kLongBatch);
    RETURN_IF_ERROR(session->StageInput(kTrainEntry, "images", batch.images));
    RETURN_IF_ERROR(session->StageInput(kTrainEntry, "labels", batch.labels));
    ASSIGN_OR_RETURN(const StepResult result, session->Train());
    losses.push_back(result.loss);
  }
  return losses;
}

// Of the same model in f32, from the same beginning, each from its own states.
class LongRun : public testing::TestWithParam<Case> {};

TEST_P(LongRun, LossesAreThoseOfF32Within2Percent) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeLongModel(one));
  ASSERT_OK_AND_ASSIGN(const std::vector<double> narrow, Losses(model, one, Mixed()));
  ASSERT_OK_AND_ASSIGN(const std::vector<double> wide, Losses(model, one, {}));
  EXPECT_NE(narrow, wide);
  for (int step = 0; step < kLongSteps; ++step) {
    EXPECT_LE(std::abs(narrow[step] - wide[step]), 2e-2 * wide[step]) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LongRun,
                         testing::Values(Case{"mlp", "1x1", true}, Case{"mini-inception", "1x1", false},
                                         Case{"mini-inception", "1x1", true}),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
