// A model survives text and binary, in any order of its nodes.
#include <algorithm>
#include <filesystem>
#include <tuple>

#include "graph/read/model_entries.h"
#include "tests/graph/io/graph_text.h"
#include "tools/models/models.h"

namespace partita {
namespace {

bool Equal(const Model& a, const Model& b) {
  const auto nodes_a = Describe(a.graph), nodes_b = Describe(b.graph);
  if (nodes_a.size() != nodes_b.size() || a.graph.loss != b.graph.loss || a.graph.metrics != b.graph.metrics)
    return false;
  const auto losses = [](const Model& model) {
    std::vector<std::tuple<std::string, double, bool>> described;
    for (const auto& [value, weight, only] : DescribeFurtherLosses(model.graph)) {
      described.emplace_back(value, weight, only);
    }
    return described;
  };
  if (losses(a) != losses(b)) return false;
  for (size_t i = 0; i < nodes_a.size(); ++i) {
    const NodeDescription &x = nodes_a[i], &y = nodes_b[i];
    if (x.name != y.name || x.op != y.op || x.inputs != y.inputs || x.attributes != y.attributes) return false;
    const ValueId value = static_cast<ValueId>(i);
    if (a.graph.node(value).attributes != b.graph.node(value).attributes) return false;
    if (a.graph.type(value) != b.graph.type(value)) return false;
  }
  return a.name == b.name && a.optimizer.name == b.optimizer.name && a.optimizer.attributes == b.optimizer.attributes &&
         a.optimizer.clip_norm == b.optimizer.clip_norm && a.learning_rate.schedule == b.learning_rate.schedule &&
         a.learning_rate.base == b.learning_rate.base;
}

// What the shipped models do not say.
TEST(TrainingOfAModel, SurvivesTextAndBinary) {
  const std::string text = Broken("optimizer { momentum: 0.9 }\nlearning_rate { schedule: \"constant\" base: 0.1 }", R"(
      optimizer {
        name: "rmsprop_torch"
        attributes { name: "centered" boolean: true }
        groups { pattern: "w" rate: 0 weight_decay: 0 clip_norm: 0 attributes { name: "alpha" number: 0.5 } }
        groups { pattern: "*" }
        average { decay: 0.995 pattern: "?" warmup: true }
      }
      learning_rate { schedule: "halving" base: 1 warmup_steps: 2 warmup: "exponential"
                      decay_steps: 3 decay_start: 4 decay_times: 5 })");
  const absl::StatusOr<Model> model = ParseText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  for (ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const absl::StatusOr<Model> read = ParseModel(PrintModel(*model, format), format, "model", Ops());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(Equal(*model, *read));
    const Optimizer& optimizer = read->optimizer;
    ASSERT_EQ(optimizer.groups.size(), 2u);
    EXPECT_EQ(optimizer.groups[0].pattern, "w");
    EXPECT_EQ(optimizer.groups[0].rate, 0);
    EXPECT_EQ(optimizer.groups[0].clip_norm, 0);
    EXPECT_TRUE((optimizer.groups[0].attributes == Attributes{{"weight_decay", 0.0}, {"alpha", 0.5}}));
    EXPECT_EQ(optimizer.groups[1].rate, 1);
    EXPECT_EQ(optimizer.groups[1].clip_norm, std::nullopt);
    EXPECT_TRUE(optimizer.groups[1].attributes.entries().empty());
    ASSERT_TRUE(optimizer.average.has_value());
    EXPECT_EQ(optimizer.average->decay, 0.995);
    EXPECT_EQ(optimizer.average->pattern, "?");
    EXPECT_TRUE(optimizer.average->warmup);
    const LearningRate& rate = read->learning_rate;
    EXPECT_EQ(rate.warmup, "exponential");
    EXPECT_EQ(rate.decay_start, 4);
    EXPECT_EQ(rate.decay_times, 5);
  }
}

TEST(TrainingOfAModel, TellsThePowerOfASchedule) {
  for (const auto& [text, power] : {std::pair("power: 2.5", 2.5), std::pair("", 1.0)}) {
    const absl::StatusOr<Model> model =
        ParseText(Broken("\"constant\" base: 0.1", std::string("\"polynomial\" base: 0.1 ") + text));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->learning_rate.power, power);
    const absl::StatusOr<Model> read =
        ParseModel(PrintModel(*model, ProtoFormat::kText), ProtoFormat::kText, "model", Ops());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->learning_rate.power, power);
  }
}

TEST(TrainingOfAModel, TellsThePatienceOfASchedule) {
  const absl::StatusOr<Model> model =
      ParseText(Broken("\"constant\" base: 0.1", "\"plateau\" base: 0.1 decay: 0.5 patience: 3"));
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Model> read =
      ParseModel(PrintModel(*model, ProtoFormat::kBinary), ProtoFormat::kBinary, "model", Ops());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->learning_rate.patience, 3);
}

class ShippedModel : public ::testing::TestWithParam<std::string> {
 protected:
  Model Make() const { return *MakeModel(GetParam(), {.batch = 8}, Ops()); }
};

TEST_P(ShippedModel, SurvivesTextAndBinary) {
  const Model model = Make();
  for (ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const std::string bytes = PrintModel(model, format);
    const absl::StatusOr<Model> read = ParseModel(bytes, format, "model", Ops());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(Equal(model, *read));
    EXPECT_EQ(PrintModel(*read, format), bytes);
  }
}

TEST_P(ShippedModel, SurvivesFiles) {
  const Model model = Make();
  for (const char* ending : {".pbtxt", ".textproto", ".pb"}) {
    const std::string path = ::testing::TempDir() + "/model" + ending;
    ASSERT_TRUE(SaveModel(model, path).ok());
    const absl::StatusOr<Model> read = LoadModel(path, Ops());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(Equal(model, *read));
  }
  ASSERT_TRUE(SaveModel(model, ::testing::TempDir() + "/model.json").ok());
  EXPECT_GT(std::filesystem::file_size(::testing::TempDir() + "/model.json"), 1000u);
}

TEST_P(ShippedModel, HasOtherBatches) {
  const absl::StatusOr<Model> model = WithBatch(Make(), 5, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.type(model->graph.Find("images")).shape[0], 5);
  EXPECT_EQ(model->graph.type(model->graph.Find("classifier/bias")).shape[0], 5);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedModel, ::testing::ValuesIn(ModelNames()), [](const auto& info) {
  std::string name = info.param;
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
});

// Written and read again, with all that it was not told.
TEST(Optimizer, SurvivesText) {
  const absl::StatusOr<Model> model =
      ParseText(Broken("momentum: 0.9", "name: \"sgd\" clip_norm: 2 attributes { name: \"momentum\" number: 0.9 }"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->optimizer.name, "sgd");
  EXPECT_EQ(model->optimizer.clip_norm, 2);
  const Attributes attributes{{"momentum", 0.9}, {"weight_decay", 0.0}, {"nesterov", false}};
  EXPECT_EQ(model->optimizer.attributes, attributes);
  const absl::StatusOr<Model> read = ParseText(PrintModel(*model, ProtoFormat::kText));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(Equal(*model, *read));
}

// As files had it before optimizers had names.
TEST(Optimizer, WithoutANameIsSgd) {
  const absl::StatusOr<Model> model = ParseText(TinyGraph());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(FindOptimizer(model->optimizer.name, Ops().optimizers())->name, "sgd");
  const std::string text = PrintModel(*model, ProtoFormat::kText);
  EXPECT_NE(text.find("momentum: 0.9"), std::string::npos) << text;
  EXPECT_EQ(text.find("name: \"momentum\""), std::string::npos) << text;
}

std::vector<std::string> Order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values()) names.push_back(value.name);
  return names;
}

NodeDescription Input(const std::string& name) { return {name, "input", {}, {{"shape", IntList{4, 2}}}}; }

TEST(NodeOrder, IsKahnsLowestPositionFirst) {
  const std::vector<NodeDescription> nodes = {{"sum", "add", {"late", "early"}, {}},
                                              {"late", "relu", {"b"}, {}},
                                              Input("a"),
                                              {"early", "relu", {"a"}, {}},
                                              Input("b")};
  const absl::StatusOr<std::vector<int>> order = OrderNodes(nodes);
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_EQ(*order, (std::vector<int>{2, 3, 4, 1, 0}));
}

TEST(NodeOrder, NodesInAnyOrderGiveTheSameGraph) {
  const absl::StatusOr<Model> model = ParseText(TinyGraph());
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<NodeDescription> nodes = Describe(model->graph);
  std::reverse(nodes.begin(), nodes.end());
  const absl::StatusOr<Graph> graph = BuildGraph(nodes, "loss", {"accuracy"}, Ops());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Order(*graph), (std::vector<std::string>{"w", "y", "x", "z", "accuracy", "loss"}));
}

TEST(NodeOrder, ShortestCycleThroughANodeIsNamed) {
  // A long way round and a short cut, both through "a"; "tail" hangs on the cycle but is not of it.
  const std::vector<NodeDescription> nodes = {{"tail", "relu", {"a"}, {}},
                                              {"a", "add", {"d", "b"}, {}},
                                              {"b", "relu", {"a"}, {}},
                                              {"c", "relu", {"b"}, {}},
                                              {"d", "relu", {"c"}, {}}};
  const std::string refusal = Refusal(OrderNodes(nodes).status());
  EXPECT_NE(refusal.find("cycle of 2 nodes: 'a' -> 'b' -> 'a'"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace partita
