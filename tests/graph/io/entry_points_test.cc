// Entry points of a graph file: they survive text and binary, change with the batch, and each wrong one gets a
// sentence.
#include <gmock/gmock.h>

#include "graph/read/model_entries.h"
#include "tests/graph/io/graph_text.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

// Sequences of up to 5 places; beside them a step of one place, which reads the same parameters.
const std::string kSequences = R"(
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [4, 5, 3] } } }
nodes { name: "y" op: "input" attributes { name: "dtype" text: "i32" }
        attributes { name: "shape" integers { values: [4, 5] } } }
nodes { name: "w" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
        attributes { name: "initializer" text: "he_normal" } }
nodes { name: "z" op: "matmul" inputs: "x" inputs: "w" }
nodes { name: "loss" op: "softmax_cross_entropy" inputs: "z" inputs: "y" }
nodes { name: "place" op: "input" attributes { name: "shape" integers { values: [4, 3] } } }
nodes { name: "logits" op: "matmul" inputs: "place" inputs: "w" }
nodes { name: "scores" op: "log_softmax" inputs: "logits" }
loss: "loss"
optimizer {}
learning_rate { schedule: "constant" base: 0.1 }
)";
const std::string kShort = R"(
entry_points { name: "short" sizes { input: "x" row { values: [2, 3] } } sizes { input: "y" row { values: [2] } } })";
const std::string kStep = R"(entry_points { name: "step" results { value: "scores" name: "log_probabilities" } })";

absl::StatusOr<Model> Parse(const std::string& more) { return ParseText(std::string(kHead) + kSequences + more); }

Shape ShapeOf(const Graph& graph, const std::string& value) { return graph.type(graph.Find(value)).shape; }

void ExpectBoth(const Model& model, int64_t batch) {
  ASSERT_EQ(model.entries.size(), 2u);
  const ModelEntry &less = model.entries[0], &step = model.entries[1];
  EXPECT_EQ(ShapeOf(model.graph, "z"), (Shape{batch, 5, 2}));
  EXPECT_EQ(model.graph.Find("scores"), kNoValue) << "no part of training";
  EXPECT_EQ(model.graph.Find("place"), kNoValue) << "nor is its input";
  EXPECT_TRUE(less.is_size());
  EXPECT_EQ(ShapeOf(less.graph, "z"), (Shape{batch, 2, 2}));
  EXPECT_EQ(less.graph.value(less.graph.loss).name, "loss");
  EXPECT_FALSE(step.is_size());
  EXPECT_EQ(step.graph.loss, kNoValue);
  ASSERT_EQ(step.graph.metrics.size(), 1u);
  EXPECT_EQ(ShapeOf(step.graph, "scores"), (Shape{batch, 2}));
  EXPECT_EQ(step.graph.Find("x"), kNoValue);
  EXPECT_EQ(step.graph.states().size(), model.graph.states().size());
  EXPECT_EQ(step.results[0].name, "log_probabilities");
}

TEST(EntryPoints, SurviveTextAndBinary) {
  const absl::StatusOr<Model> model = Parse(kShort + kStep);
  ASSERT_TRUE(model.ok()) << model.status();
  ExpectBoth(*model, 4);
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const absl::StatusOr<Model> read = ParseModel(PrintModel(*model, format), format, "model", Ops());
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectBoth(*read, 4);
    EXPECT_EQ(PrintModel(*read, format), PrintModel(*model, format));
  }
}

TEST(EntryPoints, HaveOtherBatches) {
  const absl::StatusOr<Model> model = Parse(kShort + kStep);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Model> larger = WithBatch(*model, 7, Ops());
  ASSERT_TRUE(larger.ok()) << larger.status();
  ExpectBoth(*larger, 7);
}

TEST(EntryPoints, AreAddedToAModelWithAllNodes) {
  absl::StatusOr<Model> model = Parse("");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(model->graph.Find("scores"), kNoValue) << "nobody else needs it";
  ModelEntry less{"short", {{"x", {2, 3}}, {"y", {2}}}, {}, {}};
  ModelEntry step{"step", {}, {{"scores", "log_probabilities"}}, {}};
  const absl::Status added = AddEntries({less, step}, {}, Ops(), *model);
  ASSERT_TRUE(added.ok()) << added;
  ExpectBoth(*model, 4);
}

struct Case {
  std::string name;
  std::string text;
  std::vector<std::string> says;  // all of these
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class EntryPointRefusals : public ::testing::TestWithParam<Case> {};

TEST_P(EntryPointRefusals, SayWhatIsWrong) {
  const std::string refusal = Refusal(Parse(GetParam().text).status());
  EXPECT_THAT(refusal, ::testing::StartsWith("tiny.pbtxt:"));
  for (const std::string& part : GetParam().says) EXPECT_THAT(refusal, HasSubstr(part));
}

std::string Entry(const std::string& name, const std::string& fields) {
  return "entry_points { name: \"" + name + "\" " + fields + " }\n";
}
std::string Size(const std::string& input, const std::string& row) {
  return "sizes { input: \"" + input + "\" row { values: " + row + " } }";
}
const std::string kScores = R"(results { value: "scores" })";

const Case kCases[] = {
    {"NoName", "entry_points { " + kScores + " }", {"name", "''"}},
    {"CompilersName", Entry("train", kScores), {"entry point 'train'", "taken"}},
    {"Slash", Entry("train/short", kScores), {"entry point 'train/short'", "without '/'"}},
    {"NameTwice", kStep + kStep, {"entry point 'step'", "taken twice"}},
    {"Nothing", Entry("short", ""), {"entry point 'short'", "neither sizes nor results"}},
    {"Both", Entry("short", Size("y", "[2]") + kScores), {"sizes and results"}},
    {"UnknownInput", Entry("short", Size("xx", "[2, 3]")), {"entry point 'short'", "'xx'", "did you mean 'x'?"}},
    {"NoInput", Entry("short", Size("w", "[2]")), {"node 'w' is a parameter"}},
    {"InputTwice", Entry("short", Size("y", "[2]") + Size("y", "[3]")), {"'y'", "twice"}},
    {"OtherRank", Entry("short", Size("x", "[2]")), {"input 'x' is [4,5,3]", "2 sizes", "given are 1"}},
    {"Larger", Entry("long", Size("y", "[6]")), {"input 'y' is [4,5]", "may have less", "[6]"}},
    {"Zero", Entry("short", Size("y", "[0]")), {"input 'y'", "[0]"}},
    {"DoNotFit", Entry("short", Size("y", "[2]")), {"entry point 'short'", "node 'loss'", "labels"}},
    {"UnknownResult", Entry("step", "results { value: \"score\" }"), {"'step'", "'score'", "did you mean 'scores'?"}},
    {"ResultTwice", Entry("step", kScores + kScores), {"two results are called 'scores'"}},
    {"OwnParameter",
     R"(nodes { name: "v" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
                attributes { name: "initializer" text: "he_normal" } }
        nodes { name: "other" op: "matmul" inputs: "place" inputs: "v" })" +
         Entry("step", "results { value: \"other\" }"),
     {"entry point 'step'", "node 'v' is a parameter that training does not use"}},
    {"ReadByNobody", R"(nodes { name: "r" op: "relu" inputs: "scores" })" + kStep, {"node 'r' reads 'scores'"}},
};
INSTANTIATE_TEST_SUITE_P(Entries, EntryPointRefusals, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return i.param.name; });

TEST(EntryPoints, AreNotWithoutEnd) {
  std::string many;
  for (int i = 0; i < 65; ++i) many += Entry("step" + std::to_string(i), kScores);
  EXPECT_THAT(Refusal(Parse(many).status()), HasSubstr("names 65 entry points; at most 64 are allowed"));
}

// A size that a node says itself does not change with the inputs.
TEST(EntryPoints, SayWhichNodeTheirSizesDoNotFit) {
  const std::string flat = R"(
      nodes { name: "flat" op: "reshape" inputs: "z" attributes { name: "shape" integers { values: [20, 2] } } })";
  const std::string refusal = Refusal(Parse(flat + kShort).status());
  EXPECT_THAT(refusal, HasSubstr("entry point 'short': node 'flat' (reshape)"));
}

}  // namespace
}  // namespace partita
