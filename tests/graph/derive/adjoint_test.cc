// The backward of a move is its adjoint: every move, every form of cotangent, on 1 to 8 ranks, uneven, with empty
// blocks, cut anywhere, with ghosts of any width, from mesh to mesh. 10,000 cases and more, drawn by seeds.
#include <gtest/gtest.h>

#include <cstdio>

#include "graph/ir/group_key.h"
#include "graph/moves/move_ops.h"
#include "tests/graph/derive/adjoint_cases.h"

namespace partita {
namespace {

constexpr int kRounds = 50;
constexpr int kMovesPerProgram = 12;

// Those that are moves alone, those that the halo of windows needs, and those that lead from one mesh to another.
TEST(EveryMove, BackwardIsAdjoint) {
  AdjointTally tally;
  uint32_t seed = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const Mesh& mesh : AdjointMeshes()) {
      CaseDraw draw(++seed);
      std::vector<AdjointCase> cases;
      for (int i = 0; i < kMovesPerProgram; ++i) {
        cases.push_back(i % 6 == 0 ? draw.AnyHaloSum(mesh) : i % 3 == 0 ? draw.AnyHalo(mesh) : draw.AnyMove(mesh));
      }
      SCOPED_TRACE("seed " + std::to_string(seed));
      ExpectAdjoints(mesh, cases, seed, tally);
      if (HasFatalFailure()) return;
    }
    for (const std::vector<Mesh>& meshes : AdjointMeshSets()) {
      CaseDraw draw(++seed);
      std::vector<AdjointCase> cases;
      for (int i = 0; i < kMovesPerProgram; ++i) cases.push_back(draw.AnyReshard(meshes));
      SCOPED_TRACE("seed " + std::to_string(seed));
      ExpectAdjoints(meshes, cases, seed, tally);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(tally.cases, 10000);
  std::printf("%d cases; with each primitive:", tally.cases);
  for (const OpDefinition& move : MoveDefinitions()) {
    std::printf(" %s %d", move.name.c_str(), tally.by_primitive[move.name]);
    EXPECT_GE(tally.by_primitive[move.name], 100) << move.name;
  }
  std::printf("\n");
}

// All pairs of layouts of one axis, uneven and with empty blocks.
TEST(EveryMove, AllPairsOverOneAxis) {
  AdjointTally tally;
  for (int ranks = 2; ranks <= 5; ++ranks) {
    const Mesh mesh = MeshOf({ranks});
    std::vector<AdjointCase> cases;
    for (const Shape& shape : {Shape{7, 3}, Shape{3, 6}}) {
      std::vector<int64_t> cuts(ranks + 1, shape[0]);
      cuts[0] = 0;
      cuts[1] = 1;  // all but two ranks are empty
      const std::string uneven = "a:" + AxisLayout::Split(0, cuts).ToString();
      const std::string last = "a:At" + std::to_string(ranks - 1);
      const std::vector<std::string> forms = {"a:R", "a:P", "a:S0", "a:S1", uneven, "a:At0", last};
      for (const std::string& from : forms) {
        for (const std::string& to : forms) {
          if (from == to) continue;
          cases.push_back({{DType::kF64, shape}, ParseLayout(from, shape, mesh), ParseLayout(to, shape, mesh), false});
        }
      }
    }
    ExpectAdjoints(mesh, cases, static_cast<uint32_t>(ranks), tally);
  }
  EXPECT_GE(tally.cases, 380);
}

}  // namespace
}  // namespace partita
