// What is computed again has the bits that it had: of any blocks, under every kind of strategy, a training run ends
// with the losses, metrics and states of the run that keeps all values, moves the bytes that were predicted, and needs
// no more memory; of a deep chain as much less as is reckoned by hand.
#include "graph/recompute/recompute.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/gate.h"
#include "graph/ir/op_definition.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kSteps = 3;

// The nodes in their order, in so many blocks of about equal numbers.
std::vector<RecomputedBlock> Pieces(const Graph& forward, int pieces) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    if (!forward.node(id).inputs.empty()) names.push_back(forward.name(id));
  }
  std::vector<RecomputedBlock> blocks(static_cast<size_t>(pieces));
  for (size_t i = 0; i < names.size(); ++i) {
    blocks[i * static_cast<size_t>(pieces) / names.size()].nodes.push_back(names[i]);
  }
  return blocks;
}

using Batches = std::function<std::map<std::string, HostTensor>(int step)>;

struct Outcome {
  std::vector<std::pair<std::string, std::string>> bits;  // of losses, metrics and states
  int64_t arena = 0;                                      // of the fullest rank
  int again = 0;                                          // nodes that stand for others a second time
};

absl::StatusOr<Outcome> RunOf(const Model& model, const Strategy& strategy, const ProgramOptions& options,
                              const Batches& batches) {
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), options));
  SessionOptions session_options;
  session_options.seed = 7;
  session_options.threads_per_rank = 1;
  ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(program), session_options));
  Outcome run;
  const auto add = [&](const std::string& name, double value) {
    run.bits.emplace_back(name, std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
  };
  for (int step = 0; step < kSteps; ++step) {
    for (const auto& [name, tensor] : batches(step)) {
      RETURN_IF_ERROR(session->StageInput(kTrainEntry, name, tensor));
    }
    ASSIGN_OR_RETURN(const StepResult result, session->Train());
    add("loss", result.loss);
    for (const auto& [name, value] : result.metrics) add(name, value);
  }
  for (const std::string& name : session->StateNames()) {
    ASSIGN_OR_RETURN(const HostTensor state, session->ReadState(name));
    run.bits.emplace_back(name, std::string(state.bytes.begin(), state.bytes.end()));
  }
  for (int rank = 0; rank < session->ranks(); ++rank) {
    run.arena = std::max(run.arena, session->PlannedMemory(rank).total);
  }
  const Graph& graph = session->graph(kTrainEntry);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!IsComputedAgain(graph.name(id))) continue;
    if (GateOf(*graph.node(id).op) >= 0) return Internal("'{}' updates a state twice", graph.name(id));
    ++run.again;
  }
  RETURN_IF_ERROR(CompareBytes(*session, kSteps));
  return run;
}

void ExpectSameBits(const Model& model, Strategy strategy, const ProgramOptions& options, const Batches& batches) {
  ASSERT_OK_AND_ASSIGN(const Outcome kept, RunOf(model, strategy, options, batches));
  for (const int pieces : {1, 3, 8}) {
    SCOPED_TRACE(pieces);
    strategy.recompute = Pieces(model.graph, pieces);
    ASSERT_OK_AND_ASSIGN(const Outcome run, RunOf(model, strategy, options, batches));
    EXPECT_GT(run.again, 0);
    ASSERT_EQ(run.bits.size(), kept.bits.size());
    for (size_t i = 0; i < run.bits.size(); ++i) EXPECT_EQ(run.bits[i], kept.bits[i]) << kept.bits[i].first;
  }
}

ProgramOptions Verified() {
  ProgramOptions options;
  options.verify_passes = true;
  return options;
}

class Recomputed : public testing::TestWithParam<Case> {};

TEST_P(Recomputed, HasTheSameBits) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, MakeStrategy(one, model));
  const auto batches = [&](int step) -> std::map<std::string, HostTensor> {
    StepInputs inputs = MakeBatch(2, step, DType::kF32, BatchOf(one));
    return {{"images", std::move(inputs.images)}, {"labels", std::move(inputs.labels)}};
  };
  ExpectSameBits(model, strategy, Verified(), batches);
}

// With dropout and batch norm, on 7 samples: uneven on 2 and 3 ranks.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* strategy : {"1x1", "2x1", "1x2", "2x2", "3x1", "placement", "mixed", "h2", "h3", "h2w2", "d2h2",
                               "h2c2", "c2i2", "micro", "micro_data", "gpipe", "1f1b", "uneven_stages", "rows4_grid"}) {
    cases.push_back({"mini-inception", strategy, true});
  }
  for (const char* strategy : {"1x2", "3x1", "w2", "1f1b_overlap", "2x3_3x2", "islands", "across_chain"}) {
    cases.push_back({"lenet5", strategy, true});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, Recomputed, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.Name(); });

TEST(Recomputation, OfMixedPrecisionHasTheSameBits) {
  const Case one{"lenet5", "2x1", true};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, MakeStrategy(one, model));
  ProgramOptions options = Verified();
  options.mix_precision = true;
  ExpectSameBits(model, strategy, options, [](int step) -> std::map<std::string, HostTensor> {
    StepInputs inputs = MakeBatch(2, step, DType::kF32);
    return {{"images", std::move(inputs.images)}, {"labels", std::move(inputs.labels)}};
  });
}

// Two LSTMs that carry what they remember from batch to batch, with dropout between.
absl::StatusOr<Model> WordsModel() {
  constexpr int64_t kUnits = 5, kWords = 11;
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {6, 4});
  const ValueId next = b.Input("next", DType::kI32, {6, 4});
  ValueId x = b.Add("read", "embedding", {b.Parameter("table", {kWords, kUnits}, "uniform", 0.5), words});
  for (const char* const name : {"lstm1", "lstm2"}) {
    const ValueId gates = b.Dense(fmt::format("{}/input", name), x, 4 * kUnits, "glorot_uniform");
    const ValueId w = b.Parameter(fmt::format("{}/recurrent", name), {kUnits, 4 * kUnits}, "glorot_uniform");
    x = b.Add(name, "lstm", {gates, w, kNoValue}, {{"carry", true}});
    x = b.Dropout(fmt::format("{}/dropout", name), x, 0.2);
  }
  Model model;
  const ValueId logits = b.Dense("classifier", x, kWords);
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "softmax_cross_entropy", {logits, next, kNoValue})));
  model.learning_rate.base = 0.1;
  return model;
}

std::map<std::string, HostTensor> Words(int step) {
  HostTensor words = SmallLabels(24, 11, step), next = SmallLabels(24, 11, step + 100);
  words.shape = next.shape = {6, 4};
  return {{"words", std::move(words)}, {"next", std::move(next)}};
}

TEST(Recomputation, OfCarriedStatesHasTheSameBits) {
  ASSERT_OK_AND_ASSIGN(const Model model, WordsModel());
  for (const auto& [data, parts] : {std::pair{1, 1}, {2, 1}, {1, 3}}) {
    SCOPED_TRACE(data);
    ASSERT_OK_AND_ASSIGN(Strategy strategy, DataModelStrategy(model.graph, data, 1));
    strategy.pipeline.micro_batches = parts;
    ExpectSameBits(model, strategy, Verified(), Words);
  }
}

// Twelve times tanh, of which the gradient reads what it gave, of 1 MiB. Where all is kept, there are twelve and a
// cotangent when the backward pass begins. In four blocks of three each, there are, when it comes to the second layer
// of the last block, what the blocks before have given, the first two of this block again, and a cotangent: six.
// Scalars between them take up to 64 bytes.
TEST(Recomputation, ChainsNeedAsMuchLessAsReckoned) {
  constexpr int64_t kRows = 512, kColumns = 512, kBytes = kRows * kColumns * 4;
  GraphBuilder b(Ops());
  ValueId x = b.Input("images", DType::kF32, {kRows, kColumns});
  x = b.Add("scaled", "mul", {x, b.Parameter("scale", {kRows, kColumns}, "uniform")});
  std::vector<RecomputedBlock> blocks(4);
  blocks[0].nodes = {"scaled"};
  for (int i = 0; i < 12; ++i) {
    const std::string name = fmt::format("layer{}", i);
    x = b.Add(name, "tanh", {x});
    blocks[static_cast<size_t>(i / 3)].nodes.push_back(name);
  }
  Model model;
  ASSERT_OK_AND_ASSIGN(model.graph, b.Build(b.Add("loss", "mean", {x})));
  const auto batches = [&](int step) -> std::map<std::string, HostTensor> {
    HostTensor images{DType::kF32, {kRows, kColumns}, std::vector<char>(kBytes)};
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const auto value = static_cast<float>((i + step) % 17);
      std::memcpy(images.bytes.data() + i * 4, &value, 4);
    }
    return {{"images", std::move(images)}};
  };
  ASSERT_OK_AND_ASSIGN(const Outcome kept, RunOf(model, Strategy{}, Verified(), batches));
  Strategy strategy;
  strategy.recompute = blocks;
  ASSERT_OK_AND_ASSIGN(const Outcome run, RunOf(model, strategy, Verified(), batches));
  EXPECT_EQ(run.bits, kept.bits);
  EXPECT_EQ(run.again, 9);
  EXPECT_NEAR(static_cast<double>(kept.arena - run.arena), static_cast<double>((13 - 6) * kBytes), 64);
}

}  // namespace
}  // namespace partita
