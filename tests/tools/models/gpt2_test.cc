// GPT-2 has the sizes that its authors say, and others that are asked for.
#include "tools/models/transformers/gpt2.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/moves/move_bytes.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

// As transformers' GPT2LMHeadModel has them, whose classifier is the table of words.
TEST(Gpt2, HasTheSizesOfTheFourPublishedModels) {
  const auto count = [](int64_t width, int64_t heads, int64_t layers) -> int64_t {
    const absl::StatusOr<Model> model = MakeGpt2({.width = width, .heads = heads, .layers = layers}, Ops());
    return model.ok() ? ParameterCount(model->graph) : 0;
  };
  EXPECT_EQ(count(768, 12, 12), 124'439'808);
  EXPECT_EQ(count(1024, 16, 24), 354'823'168);
  EXPECT_EQ(count(1280, 20, 36), 774'030'080);
  EXPECT_EQ(count(1600, 25, 48), 1'557'611'200);
}

TEST(Gpt2, ReadsTheFirstPositionsOfItsTable) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeGpt2({.batch = 2, .length = 8, .dropout_rate = 0}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 124'439'808);
  EXPECT_EQ(model.graph.type(model.graph.Find("logits")).shape, (Shape{2, 8, 50'257}));
  EXPECT_EQ(model.graph.type(model.graph.Find("block12/query/heads")).shape, (Shape{2, 8, 12, 64}));
}

// Neither biases nor norms decay, and every pattern of the optimizer's groups finds parameters.
TEST(Gpt2, IsCompiledForRanks) {
  const Gpt2Options options{.batch = 4, .length = 6, .positions = 9, .words = 20, .width = 12, .heads = 3, .layers = 2};
  ASSERT_OK_AND_ASSIGN(Model model, MakeGpt2(options, Ops()));
  model.learning_rate.steps = 10;
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 3));
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, strategy, Ops()));
  EXPECT_EQ(program.ranks(), 6);
}

// By --mp alone: of the 12 GiB of logits nothing travels, and of what a head computes nothing before it is joined.
TEST(Gpt2, ModelParallelRanksGatherNeitherLogitsNorHeads) {
  ASSERT_OK_AND_ASSIGN(Model model, MakeGpt2({.batch = 64}, Ops()));
  model.learning_rate.steps = 10;
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 1, 4));
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, strategy, Ops()));
  const Graph& graph = program.graph(kTrainEntry);
  for (const Node& node : graph.nodes()) {
    if (!node.op->move || !Communicates(graph, node)) continue;
    const std::string& name = graph.value(node.outputs[0]).name;
    for (const char* const whole : {"logits", "query", "key", "value", "heads", "read"}) {
      EXPECT_EQ(name.find(whole), std::string::npos) << name;
    }
  }
}

TEST(Gpt2, RejectsSizesThatItCannotHave) {
  const auto error = [](const Gpt2Options& options) {
    return std::string(MakeGpt2(options, Ops()).status().message());
  };
  EXPECT_EQ(error({.layers = 0}), "layers is 0; expected at least 1");
  EXPECT_EQ(error({.heads = 7}), "heads is 7; expected a divisor of the width (hidden), which is 768");
  EXPECT_EQ(error({.length = 1025}), "length is 1025; expected at most 1024, the rows of the table of positions");
}

}  // namespace
}  // namespace partita
