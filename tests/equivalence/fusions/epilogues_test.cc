// A plan whose convolutions and products compute bias and relu themselves beside the serial run in which nothing is
// joined: step by step in f64, over splits of samples, channels, rows and columns, whole and in parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/api/verify_plan.h"
#include "tests/equivalence/cases.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kSteps = 4;

bool IsJoined(const Node& node) { return node.op->name == "conv2d_epilogue" || node.op->name == "matmul_epilogue"; }

int64_t Joined(const Graph& graph) { return std::ranges::count_if(graph.nodes(), IsJoined); }

// Launches that compute a part of a joined convolution, on all ranks.
int64_t PartsOf(const Session& session) {
  int64_t count = 0;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    count += std::ranges::count_if(session.schedule(kTrainEntry, rank).launches, [](const Launch& launch) {
      const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
      return kernel != nullptr && kernel->node.op->name == "conv2d_epilogue" && !kernel->node.within.empty();
    });
  }
  return count;
}

struct Overlapping {
  Case one;
  OverlapHalo overlap = OverlapHalo::kOff;
};

void PrintTo(const Overlapping& o, std::ostream* out) { *out << o.one; }

class Epilogues : public testing::TestWithParam<Overlapping> {};

// Of weights that are cut by input channels too nothing is joined: their products are sums.
TEST_P(Epilogues, JoinedNodesComputeWhatTheirPartsDo) {
  const Case& one = GetParam().one;
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions fused{.floating = DType::kF64, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, apart));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, fused));
  EXPECT_EQ(Joined(serial.graph(kTrainEntry)) + Joined(serial.graph(kEvaluateEntry)), 0);
  for (const Graph* entry : {&plan.graph(kTrainEntry), &plan.graph(kEvaluateEntry)}) {
    EXPECT_EQ(Joined(*entry) >= 3, one.strategy != "c2i2") << Joined(*entry);
  }
  VerifyPlanOptions options;
  options.session.overlap_halo = GetParam().overlap;
  options.session.threads_per_rank = 1;
  options.tolerance = 1e-10;
  options.floor = 1e-6;
  options.same_beginning = false;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  EXPECT_FALSE(verifier->gradients().empty());
  EXPECT_EQ(PartsOf(verifier->plan()) > 0, GetParam().overlap == OverlapHalo::kOn);
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(2, step, DType::kF64, BatchOf(one));
    ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
    ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
}

std::vector<Overlapping> Cases() {
  std::vector<Overlapping> cases;
  for (const char* strategy : {"1x1", "2x1", "1x2", "2x2", "h2", "h2w2", "d2h2", "h2c2", "c2i2", "micro", "1f1b"}) {
    cases.push_back({{"lenet5", strategy}});
  }
  for (const char* strategy : {"h2", "h3", "h2w2", "d2h2", "h2c2"}) {
    cases.push_back({{"lenet5", strategy}, OverlapHalo::kOn});
  }
  cases.push_back({{"mlp", "2x2"}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, Epilogues, testing::ValuesIn(Cases()), [](const auto& info) {
  return info.param.one.Name() + (info.param.overlap == OverlapHalo::kOn ? "_in_parts" : "");
});

}  // namespace
}  // namespace partita
