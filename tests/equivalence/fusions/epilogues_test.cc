// A plan whose convolutions and products compute bias and relu themselves beside the serial run in which nothing is
// joined: step by step in f64, over splits of samples, channels, rows and columns, whole and in parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/api/verify_plan.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/fusions/joined_programs.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

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
  ASSERT_OK_AND_ASSIGN(JoinedPrograms programs, MakeJoinedPrograms(one));
  const Program &serial = programs.serial, &plan = programs.host;
  EXPECT_EQ(Joined(serial.graph(kTrainEntry)) + Joined(serial.graph(kEvaluateEntry)), 0);
  for (const Graph* entry : {&plan.graph(kTrainEntry), &plan.graph(kEvaluateEntry)}) {
    EXPECT_EQ(Joined(*entry) >= 3, one.strategy != "c2i2") << Joined(*entry);
  }
  ASSERT_OK_AND_ASSIGN(const auto verifier, StartBoth(std::move(programs.serial), std::move(programs.host),
                                                      /*tolerance=*/1e-10, GetParam().overlap));
  EXPECT_EQ(PartsOf(verifier->plan()) > 0, GetParam().overlap == OverlapHalo::kOn);
  ExpectEqualSteps(one, *verifier);
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
