// Strategies survive text and binary; wrong ones are refused in a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/graph/io/graph_text.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kStrategy[] = R"(schema_version: 1
mesh { name: "data" size: 2 }
mesh { name: "model" size: 2 }
ops { pattern: "z" axes { axis: "model" split: "output_channels" cuts: [0, 1, 2] } }
ops { pattern: "w" update { axis: "data" split: "dimension0" } }
ops { pattern: "*" axes { axis: "data" split: "samples" } axes { axis: "model" split: "at" coordinate: 1 } }
bucket_bytes: 4096
further_meshes { name: "tail" axes { name: "stage" size: 2 } ranks: [3, 1] }
further_meshes { name: "flat" axes { name: "all" size: 4 } }
stage_meshes: "tail"
exchanges: "chain"
input_gradients: "all_reduce"
recompute { nodes: ["block1/*", "relu?"] }
recompute { nodes: "block2/*" }
)";

absl::StatusOr<Strategy> Parse(const std::string& text) { return ParseStrategy(text, ProtoFormat::kText, "s.pbtxt"); }

TEST(StrategyFile, SaysWhatItSays) {
  const absl::StatusOr<Strategy> strategy = Parse(kStrategy);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  EXPECT_EQ(strategy->mesh.ToString(), "data:2 model:2");
  ASSERT_EQ(strategy->ops.size(), 3u);
  EXPECT_EQ(strategy->ops[0].axes.at("model").split, "output_channels");
  EXPECT_EQ(strategy->ops[0].axes.at("model").cuts, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(strategy->ops[1].update.at("data").split, "dimension0");
  EXPECT_EQ(strategy->ops[2].pattern, "*");
  EXPECT_EQ(strategy->ops[2].axes.at("model").coordinate, 1);
  EXPECT_EQ(strategy->bucket_bytes, 4096);
  EXPECT_EQ(ToString(MeshesOf(*strategy)), "data:2 model:2, tail stage:2 {3,1}, flat all:4");
  EXPECT_EQ(strategy->pipeline.stage_meshes, (std::vector<std::string>{"tail"}));
  EXPECT_EQ(strategy->exchanges, ExchangeMode::kChain);
  EXPECT_EQ(strategy->input_gradients, InputGradients::kAllReduce);
  EXPECT_EQ(strategy->recompute, (std::vector<RecomputedBlock>{{{"block1/*", "relu?"}}, {{"block2/*"}}}));
}

TEST(StrategyFile, SurvivesTextAndBinary) {
  const Strategy strategy = *Parse(kStrategy);
  for (ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const std::string bytes = PrintStrategy(strategy, format);
    const absl::StatusOr<Strategy> read = ParseStrategy(bytes, format, "s");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PrintStrategy(*read, format), bytes);
    EXPECT_EQ(MeshesOf(*read), MeshesOf(strategy));
    EXPECT_EQ(read->bucket_bytes, strategy.bucket_bytes);
    EXPECT_EQ(read->exchanges, strategy.exchanges);
    EXPECT_EQ(read->input_gradients, strategy.input_gradients);
    EXPECT_EQ(read->recompute, strategy.recompute);
    for (size_t length = 0; length < bytes.size(); ++length) {  // a shorter strategy, or a refusal; no crash
      const auto cut = ParseStrategy(bytes.substr(0, length), format, "s");
      if (!cut.ok()) Refusal(cut.status());
    }
  }
}

TEST(StrategyFile, WithoutBucketsTheSizeIsChosen) {
  const std::string text = std::string(kStrategy).substr(0, std::string(kStrategy).find("bucket_bytes"));
  EXPECT_EQ(Parse(text)->bucket_bytes, -1);
  EXPECT_EQ(Parse(text)->exchanges, std::nullopt);
  EXPECT_EQ(Parse(text + "exchanges: 'auto'")->exchanges, std::nullopt);
  EXPECT_EQ(Parse(text)->input_gradients, InputGradients::kReduceScatter);
}

struct Case {
  std::string name, from, to;
  std::vector<std::string> says;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class StrategyRefusals : public ::testing::TestWithParam<Case> {};

TEST_P(StrategyRefusals, SayWhatIsWrong) {
  std::string text = kStrategy;
  ASSERT_NE(text.find(GetParam().from), std::string::npos);
  text.replace(text.find(GetParam().from), GetParam().from.size(), GetParam().to);
  const std::string refusal = Refusal(Parse(text).status());
  EXPECT_THAT(refusal, StartsWith("s.pbtxt:"));
  for (const std::string& part : GetParam().says) EXPECT_THAT(refusal, HasSubstr(part));
}

const std::string kMesh = "mesh { name: \"data\" size: 2 }\nmesh { name: \"model\" size: 2 }\n";

std::string ManyAxes(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("mesh {{ name: \"axis{}\" size: 2 }}\n", i);
  return text;
}

std::string ManyMeshes(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("further_meshes {{ name: \"m{0}\" axes {{ name: \"x{0}\" size: 1 }} }}\n", i);
  }
  return text;
}

const Case kCases[] = {
    {"Version", "schema_version: 1", "", {"schema_version is missing"}},
    {"UnknownField", "pattern: \"z\"", "name: \"z\"", {"s.pbtxt:4:", "OpConfigProto has no field 'name'"}},
    {"MeshName", "name: \"tail\"", "", {"further mesh ''", "field name"}},
    {"MeshAxes", "axes { name: \"all\" size: 4 }", "", {"further mesh 'flat'", "it has no axes"}},
    {"MeshAxisTwice", "name: \"all\"", "name: \"model\"", {"further mesh 'flat'", "axis 'model' is named twice"}},
    {"MeshAxisSize", "size: 4", "size: 0", {"further mesh 'flat'", "axis 'all' has size 0"}},
    {"NoMesh", kMesh, "", {"mesh is missing"}},
    {"AxisTwice", "\"model\" size", "\"data\" size", {"axis 'data' is named twice"}},
    {"AxisName", "name: \"data\"", "name: \"\"", {"mesh", "empty"}},
    {"AxisSizeZero", "size: 2", "size: 0", {"axis 'data' has size 0"}},
    {"AxisSizeNegative", "size: 2", "size: -2", {"axis 'data' has size -2"}},
    {"TooManyRanks", "size: 2", "size: 16385", {"axis 'data' has size 16385", "16384 ranks"}},
    {"TooManyAxes", kMesh, ManyAxes(9), {"mesh: it has 9 axes; at most 8 are allowed"}},
    {"TooManyMeshes", "bucket_bytes: 4096\n", ManyMeshes(255), {"it names 257 further meshes; at most 256"}},
    {"MicroBatches", "bucket_bytes: 4096\n", "micro_batches: 4097\n", {"micro_batches is 4097; 1 to 4096 are allowed"}},
    {"AxisOverflow", "size: 2", "size: 9999999999", {"s.pbtxt:2:"}},
    {"UnknownAxis", "axis: \"model\"", "axis: \"modl\"", {"entry 1 ('z')", "no axis 'modl'", "did you mean 'model'?"}},
    {"SameAxisTwice",
     "axis: \"model\" split: \"at\"",
     "axis: \"data\" split: \"at\"",
     {"entry 3 ('*')", "axis 'data' is named twice"}},
    {"NoSplit", "split: \"samples\"", "", {"entry 3 ('*')", "field split"}},
    {"EmptyPattern", "pattern: \"z\"", "", {"entry 1", "empty"}},
    {"BadPattern", "pattern: \"z\"", "pattern: \"z%\"", {"entry 1 ('z%')", "'%'"}},
    {"SaysNothing", "update { axis: \"data\" split: \"dimension0\" }", "", {"entry 2 ('w')", "names no axis"}},
    {"AtNowhere", "coordinate: 1", "", {"entry 3 ('*')", "coordinate is missing", "0 to 1"}},
    {"AtOff", "coordinate: 1", "coordinate: 2", {"axis 'model'", "coordinate is 2"}},
    {"AtNegative", "coordinate: 1", "coordinate: -1", {"coordinate is -1"}},
    {"CoordinateOfSplit",
     "split: \"samples\"",
     "split: \"samples\" coordinate: 0",
     {"coordinate is given with split 'samples'"}},
    {"CutsOfAt", "coordinate: 1", "coordinate: 1 cuts: [0, 1, 2]", {"cuts are given with split 'at'"}},
    {"CutsTooFew", "cuts: [0, 1, 2]", "cuts: [0, 2]", {"cuts are [0,2]", "3 numbers"}},
    {"CutsFall", "cuts: [0, 1, 2]", "cuts: [0, 2, 1]", {"cuts are [0,2,1]"}},
    {"CutsBegin", "cuts: [0, 1, 2]", "cuts: [1, 1, 2]", {"cuts are [1,1,2]", "begin with 0"}},
    {"Exchanges",
     "\"chain\"",
     "\"chains\"",
     {"exchanges is 'chains'", "auto, direct, slices, chain", "did you mean 'chain'?"}},
    {"ExchangesInOldWords", "\"chain\"", "\"scatter\"", {"exchanges is 'scatter'", "did you mean 'slices'?"}},
    {"Reshard", "exchanges: \"chain\"", "reshard: \"auto\"", {"no field 'reshard'; did you mean 'exchanges'?"}},
    {"InputGradients",
     "\"all_reduce\"",
     "\"all_reduced\"",
     {"input_gradients is 'all_reduced'", "reduce_scatter, all_reduce", "did you mean 'all_reduce'?"}},
    {"RecomputeNothing", "nodes: \"block2/*\"", "", {"recompute 2: it names no node"}},
    {"RecomputePattern", "\"relu?\"", "\"relu!\"", {"recompute 1: field nodes", "'!'"}},
    {"Buckets", "bucket_bytes: 4096", "bucket_bytes: -1", {"bucket_bytes is -1"}},
};
INSTANTIATE_TEST_SUITE_P(All, StrategyRefusals, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace partita
