// Every op that is exported computes the same when it is read back; what has no form in ONNX is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exporter/onnx/export_model.h"
#include "exporter/onnx/lowering.h"
#include "exporter/onnx/write_model.h"
#include "graph/ir/entry_point.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "tests/exporter/onnx/round_trip.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 4;

NodeDescription Input(const std::string& name, IntList shape, const std::string& dtype = "f64") {
  return {name, "input", {}, {{"shape", std::move(shape)}, {"dtype", dtype}}};
}

// A weight, which need not have a gradient.
NodeDescription Weights(const std::string& name, IntList shape) {
  return {name,
          "state",
          {},
          {{"shape", std::move(shape)}, {"dtype", std::string("f64")}, {"initializer", std::string("uniform")}}};
}

NodeDescription Parameter(const std::string& name, IntList shape) {
  NodeDescription parameter = Weights(name, std::move(shape));
  parameter.op = "parameter";
  return parameter;
}

NodeDescription State(const std::string& name, IntList shape, double value) {
  return {name,
          "state",
          {},
          {{"shape", std::move(shape)},
           {"dtype", std::string("f64")},
           {"initializer", std::string("constant")},
           {"scale", value}}};
}

// The graph of a value `y` of the nodes. Its loss has the parameter that a loss needs.
absl::StatusOr<Model> MadeOf(std::vector<NodeDescription> nodes) {
  nodes.push_back(Parameter("factor", {1}));
  nodes.push_back({"squares", "mul", {"y", "factor"}, {}});
  nodes.push_back({"loss", "mean", {"squares"}, {}});
  Model model;
  model.name = "nodes";
  ASSIGN_OR_RETURN(model.graph, BuildGraph(nodes, "loss", {}, Ops()));
  return model;
}

struct Case {
  std::string name;
  std::vector<NodeDescription> nodes;
  double tolerance = 1e-12;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const NodeDescription kRows = Input("x", {kBatch, 6}), kImages = Input("x", {kBatch, 5, 7, 4}),
                      kFilters = Weights("w", {3, 3, 3, 4}),
                      kConvolution = {"c", "conv2d", {"x", "w"}, {{"padding", IntList{1, 1, 1, 1}}}};

// An op of one input, of rows and of images behind a convolution.
std::vector<Case> Unary() {
  std::vector<Case> cases;
  for (const char* const op :
       {"atan",         "cos",        "erf",           "exp",     "expm1",   "floor",      "gelu", "gelu_tanh",
        "hard_sigmoid", "hard_swish", "relu",          "relu6",   "round",   "sigmoid",    "silu", "sin",
        "square",       "tanh",       "stop_gradient", "dropout", "softmax", "log_softmax"}) {
    const Attributes attributes = std::string(op) == "dropout" ? Attributes{{"rate", 0.5}} : Attributes{};
    const double tolerance = std::string(op).starts_with("hard") ? 1e-7 : 1e-12;  // their factors are f32 in ONNX
    cases.push_back({op,
                     {kRows,
                      Weights("w", {6}),
                      {"three", "scale", {"x"}, {{"factor", 3.0}}},
                      {"z", op, {"three"}, attributes},
                      {"y", "bias", {"z", "w"}, {}}},
                     tolerance});
    cases.push_back({std::string(op) + " of images",
                     {kImages, kFilters, kConvolution, {"z", op, {"c"}, attributes}, {"y", "add", {"z", "c"}, {}}},
                     tolerance});
  }
  for (const char* const op : {"log", "log1p", "sqrt"}) {
    cases.push_back(
        {op,
         {kRows, {"p", "square", {"x"}, {}}, Weights("w", {6}), {"z", op, {"p"}, {}}, {"y", "bias", {"z", "w"}, {}}}});
  }
  return cases;
}

// An op of two inputs: of rows, of images with a vector, and of images with one number for each channel and sample.
std::vector<Case> Binary() {
  std::vector<Case> cases;
  for (const char* const op : {"add", "sub", "mul", "div", "maximum", "greater", "greater_equal", "masked"}) {
    cases.push_back({op, {kRows, Weights("w", {6}), {"z", op, {"x", "w"}, {}}, {"y", "add", {"z", "x", "w"}, {}}}});
    cases.push_back({std::string(op) + " of images and a vector",
                     {kImages,
                      kFilters,
                      kConvolution,
                      Weights("v", {3}),
                      {"z", op, {"c", "v"}, {}},
                      {"y", "add", {"z", "c"}, {}}}});
    cases.push_back({std::string(op) + " of images and a matrix",
                     {kImages,
                      kFilters,
                      kConvolution,
                      Weights("v", {7, 3}),
                      {"z", op, {"c", "v"}, {}},
                      {"y", "add", {"z", "c"}, {}}}});
    cases.push_back({std::string(op) + " of images and channels",
                     {kImages,
                      kFilters,
                      kConvolution,
                      {"g", "global_average_pool", {"c"}, {}},
                      {"e", "expand", {"g"}, {{"axes", IntList{1, 2}}, {"sizes", IntList{5, 7}}}},
                      {"z", op, {"c", "e"}, {}},
                      {"y", "add", {"z", "c"}, {}}}});
  }
  return cases;
}

std::vector<Case> Images() {
  const NodeDescription vector = Weights("b", {3});
  return {
      {"convolution alone", {kImages, kFilters, {"y", "conv2d", {"x", "w"}, {{"stride", IntList{2, 1}}}}}},
      {"convolution with a bias", {kImages, kFilters, kConvolution, vector, {"y", "bias", {"c", "b"}, {}}}},
      {"convolution that two read",
       {kImages, kFilters, kConvolution, vector, {"d", "bias", {"c", "b"}, {}}, {"y", "add", {"c", "d"}, {}}}},
      {"padding that differs on all sides, dilation and groups",
       {kImages,
        Weights("w", {6, 2, 3, 2}),
        {"y",
         "conv2d",
         {"x", "w"},
         {{"padding", IntList{1, 2, 0, 3}}, {"dilation", IntList{2, 1}}, {"groups", int64_t{2}}}}}},
      {"max pool",
       {kImages,
        Weights("w", {3, 1, 1, 4}),
        {"c", "conv2d", {"x", "w"}, {}},
        {"y",
         "max_pool",
         {"c"},
         {{"kernel", IntList{3, 2}}, {"stride", IntList{2, 1}}, {"padding", IntList{1, 2, 0, 1}}}}}},
      {"average pool",
       {kImages,
        kFilters,
        kConvolution,
        {"y", "average_pool", {"c"}, {{"kernel", IntList{3, 3}}, {"padding", IntList{1, 1, 1, 1}}}}}},
      {"average pool of what lies inside",
       {kImages,
        kFilters,
        kConvolution,
        {"y",
         "average_pool",
         {"c"},
         {{"kernel", IntList{3, 3}}, {"padding", IntList{1, 1, 1, 1}}, {"count_padding", false}}}}},
      {"batch norm of images",
       {kImages,
        Weights("gamma", {4}),
        Weights("beta", {4}),
        State("mean", {4}, 0.25),
        State("variance", {4}, 0.5),
        {"y", "batch_norm", {"x", "gamma", "beta", "mean", "variance"}, {}}},
       1e-9},
      {"batch norm of rows",
       {kRows,
        Weights("gamma", {6}),
        Weights("beta", {6}),
        State("mean", {6}, 0.25),
        State("variance", {6}, 0.5),
        {"y", "batch_norm", {"x", "gamma", "beta", "mean", "variance"}, {}}},
       1e-9},
      {"means of channels behind a convolution",
       {kImages,
        kFilters,
        kConvolution,
        {"m", "mean", {"c"}, {{"axes", IntList{3}}, {"keep_sizes", true}}},
        {"y", "sub", {"c", "m"}, {}}}},
      {"sums of rows and columns", {kImages, kFilters, kConvolution, {"y", "sum", {"c"}, {{"axes", IntList{1, 2}}}}}},
      {"sums of columns", {kImages, kFilters, kConvolution, {"y", "sum", {"c"}, {{"axes", IntList{1}}}}}},
      {"parts of channels and rows",
       {kImages,
        kFilters,
        kConvolution,
        {"s", "slice", {"c"}, {{"begin", IntList{0, 1, 0, 1}}, {"size", IntList{-1, 3, -1, 2}}}},
        {"t", "slice", {"c"}, {{"begin", IntList{0, 0, 0, 0}}, {"size", IntList{-1, 3, -1, 1}}}},
        {"y", "concat", {"s", "t"}, {{"axis", int64_t{3}}}}}},
      {"images as PyTorch flattens them",
       {kImages,
        kFilters,
        kConvolution,
        {"t", "transpose", {"c"}, {{"permutation", IntList{0, 3, 1, 2}}}},
        {"y", "reshape", {"t"}, {{"shape", IntList{-1, 105}}}}}},
      {"norm of the channels of images",
       {kImages,
        kFilters,
        kConvolution,
        Weights("gamma", {3}),
        Weights("beta", {3}),
        {"n", "layer_norm", {"c", "gamma", "beta"}, {}},
        {"y", "add", {"c", "n"}, {}}},
       1e-9},
  };
}

std::vector<Case> Rows() {
  const NodeDescription sequences = Input("x", {kBatch, 5, 6}), matrix = Weights("w", {6, 3}),
                        turned = Weights("w", {3, 6});
  return {
      {"product", {kRows, matrix, {"y", "matmul", {"x", "w"}, {}}}},
      {"product with a turned matrix and a bias",
       {kRows,
        turned,
        Weights("b", {3}),
        {"p", "matmul", {"x", "w"}, {{"transpose_w", true}}},
        {"y", "bias", {"p", "b"}, {}}}},
      {"product of sequences",
       {sequences,
        turned,
        Weights("b", {3}),
        {"p", "matmul", {"x", "w"}, {{"transpose_w", true}}},
        {"y", "bias", {"p", "b"}, {}}}},
      {"products of two activations",
       {sequences,
        Weights("w", {6}),
        {"z", "mul", {"x", "w"}, {}},
        {"y", "batch_matmul", {"x", "z"}, {{"transpose_y", true}}}}},
      {"products of turned activations",
       {sequences,
        Weights("w", {6}),
        {"z", "mul", {"x", "w"}, {}},
        {"y", "batch_matmul", {"x", "z"}, {{"transpose_x", true}}}}},
      {"rows of a table",
       {Input("ids", {kBatch, 5}, "i32"), Weights("w", {7, 3}), {"y", "embedding", {"w", "ids"}, {}}}},
      {"rows of a table, one of them zeros",
       {Input("ids", {kBatch, 5}, "i32"),
        Weights("w", {7, 3}),
        {"y", "embedding", {"w", "ids"}, {{"padding_row", int64_t{1}}}}}},
      {"a table for a product too",
       {Input("ids", {kBatch, 5}, "i32"),
        Weights("w", {7, 3}),
        {"e", "embedding", {"w", "ids"}, {}},
        {"y", "matmul", {"e", "w"}, {{"transpose_w", true}}}}},
      {"norm of rows",
       {sequences, Weights("gamma", {6}), Weights("beta", {6}), {"y", "layer_norm", {"x", "gamma", "beta"}, {}}},
       1e-9},
      {"sum of three", {kRows, Weights("w", {6}), Weights("v", {6}), {"y", "add", {"x", "w", "v"}, {}}}},
      {"division by a scalar", {kRows, Weights("w", {6}), {"s", "sum", {"w"}, {}}, {"y", "over", {"x", "s"}, {}}}},
      {"largest of rows",
       {sequences, Weights("w", {6}), {"z", "mul", {"x", "w"}, {}}, {"y", "row_maximum", {"z"}, {}}}},
      {"whole numbers as numbers",
       {Input("ids", {kBatch, 5}, "i32"),
        Weights("w", {5}),
        {"f", "cast", {"ids"}, {{"dtype", std::string("f64")}}},
        {"y", "mul", {"f", "w"}, {}}}},
      {"positions of a dimension",
       {sequences, {"p", "positions", {"x"}, {{"axis", int64_t{1}}}}, {"y", "mul", {"p", "x"}, {}}}},
      {"a value for each sample",
       {sequences,
        Weights("w", {1, 6}),
        {"s", "slice", {"x"}, {{"begin", IntList{0, 0, 0}}, {"size", IntList{-1, 1, -1}}}},
        {"e", "expand_like", {"s", "w"}, {{"axes", IntList{0}}}},
        {"y", "concat", {"e", "x"}, {{"axis", int64_t{1}}}}}},
      {"a constant",
       {kRows,
        Weights("w", {6}),
        {"z", "mul", {"x", "w"}, {}},
        {"k", "constant", {}, {{"shape", IntList{6}}, {"value", 0.5}, {"dtype", std::string("f64")}}},
        {"y", "add", {"z", "k"}, {}}}},
      {"a turned cube",
       {sequences,
        {"t", "transpose", {"x"}, {{"permutation", IntList{0, 2, 1}}}},
        {"y", "reshape", {"t"}, {{"shape", IntList{-1, 30}}}}}},
  };
}

// Four heads of two elements over five keys; `groups` of keys and values.
Case Attention(const std::string& name, int64_t groups, std::vector<NodeDescription> more,
               std::vector<std::string> also, Attributes attributes) {
  std::vector<NodeDescription> nodes = {Input("x", {kBatch, 5, 8}),
                                        Weights("w", {8, 2 * groups}),
                                        {"k", "matmul", {"x", "w"}, {}},
                                        {"query", "reshape", {"x"}, {{"shape", IntList{-1, 5, 4, 2}}}},
                                        {"keys", "reshape", {"k"}, {{"shape", IntList{-1, 5, groups, 2}}}}};
  nodes.insert(nodes.end(), more.begin(), more.end());
  std::vector<std::string> inputs = {"query", "keys", "keys"};
  inputs.insert(inputs.end(), also.begin(), also.end());
  nodes.push_back({"heads", "scaled_dot_product_attention", inputs, std::move(attributes)});
  nodes.push_back({"y", "reshape", {"heads"}, {{"shape", IntList{-1, 5, 8}}}});
  return {name, nodes};
}

std::vector<Case> Attentions() {
  const NodeDescription lengths = Input("lengths", {kBatch}, "i32");  // 0 for some
  return {
      Attention("attention", 4, {}, {}, {}),
      Attention("attention with a mask", 4, {}, {}, {{"causal", true}, {"scale", 0.5}}),
      Attention("attention of groups", 2, {}, {}, {}),
      Attention("attention of one group", 1, {}, {}, {}),
      Attention("attention with lengths", 4, {lengths}, {"lengths"}, {}),
      Attention("attention with places", 4, {Parameter("bias", {4, 5, 5})}, {"", "bias"}, {}),
      Attention("attention that hides keys", 4,
                {Input("hidden", {kBatch, 1, 1, 5}),
                 {"zero", "scale", {"hidden"}, {{"factor", 0.0}}},
                 {"seen", "greater", {"hidden", "zero"}, {}},
                 {"bias", "log", {"seen"}, {}}},
                {"", "bias"}, {}),
  };
}

std::vector<Case> All() {
  std::vector<Case> all;
  for (const std::vector<Case>& some : {Unary(), Binary(), Images(), Rows(), Attentions()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class ExportedOps : public ::testing::TestWithParam<Case> {};

TEST_P(ExportedOps, ComputeTheSameWhenReadBack) {
  ASSERT_OK_AND_ASSIGN(const Model model, MadeOf(GetParam().nodes));
  ASSERT_OK_AND_ASSIGN(const RoundTrip trip, ExportAndReadBack(model, "y", 0, {kBatch - 1}));
  EXPECT_TRUE(trip.any_batch);
  EXPECT_LE(trip.difference, GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Cases, ExportedOps, ::testing::ValuesIn(All()));

TEST(ExportedOps, AreAllTested) {
  std::set<std::string> tested;
  for (const Case& c : All()) {
    for (const NodeDescription& node : c.nodes) tested.insert(node.op);
  }
  for (const std::string& op : onnx_export::LoweredOps()) EXPECT_TRUE(tested.contains(op)) << op;
}

TEST(ExportedOps, AreThoseThatTheGuideLists) {
  std::ifstream file("docs/guide/onnx.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> missing;
  for (const std::string& op : onnx_export::LoweredOps()) {
    if (guide.find("`" + op + "`") == std::string::npos) missing.push_back(op);
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

const onnx_export::ReadState kNoStates = [](const std::string& name, const TensorType&) -> absl::StatusOr<std::string> {
  return InvalidArgument("state {} was read", name);
};

absl::StatusOr<onnx_export::ExportedModel> Exported(const Model& model, const std::string& value) {
  return onnx_export::ExportOnnx(model, Ops(), {.value = value, .producer_version = "1", .read = kNoStates});
}

TEST(ExportRefuses, NodesWithoutAForm) {
  ASSERT_OK_AND_ASSIGN(const Model model, MadeOf({Input("x", {kBatch, 5, 8}),
                                                  Weights("w", {2, 8}),
                                                  {"h", "lstm", {"x", "w"}, {}},
                                                  {"n", "noise", {"h"}, {{"distribution", std::string("normal")}}},
                                                  Weights("v", {2}),
                                                  {"y", "bias", {"n", "v"}, {}}}));
  const std::string message(Exported(model, "y").status().message());
  EXPECT_THAT(message, HasSubstr("2 of its 7 nodes cannot be written as ONNX"));
  EXPECT_THAT(message, HasSubstr("node 'h' (lstm): the op has no form in ONNX"));
  EXPECT_THAT(message, HasSubstr("node 'n' (noise): its random numbers"));
  EXPECT_THAT(std::string(Exported(model, "z").status().message()), HasSubstr("z"));
  EXPECT_OK(Exported(model, "x").status());
}

TEST(ExportRefuses, MoreBytesThanAMessageMayHave) {
  ASSERT_OK_AND_ASSIGN(
      const Model model,
      MadeOf({Input("x", {kBatch, 1 << 15}), Weights("w", {1 << 15, 1 << 14}), {"y", "matmul", {"x", "w"}, {}}}));
  ASSERT_OK_AND_ASSIGN(const onnx_export::ExportedModel exported, Exported(model, "y"));
  const std::string path = ::testing::TempDir() + "/large.onnx";
  const absl::Status status = onnx_export::WriteOnnxModel(exported.model, path);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("large.onnx: the weights of the model have more bytes"));
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(ExportRefuses, StatesThatAreNotThere) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       MadeOf({Input("x", {kBatch, 6}), Weights("w", {6, 3}), {"y", "matmul", {"x", "w"}, {}}}));
  ASSERT_OK_AND_ASSIGN(const onnx_export::ExportedModel exported, Exported(model, "y"));
  const std::string path = ::testing::TempDir() + "/half.onnx";
  EXPECT_THAT(std::string(onnx_export::WriteOnnxModel(exported.model, path).message()), HasSubstr("state w was read"));
  EXPECT_FALSE(std::ifstream(path).good()) << "nothing is left of it";
}

// A graph that names its batch is exported for that batch.
TEST(ExportedGraphs, HaveTheirBatchWhereNodesNameIt) {
  ASSERT_OK_AND_ASSIGN(const Model model, MadeOf({Input("x", {kBatch, 6}),
                                                  Weights("w", {12, 3}),
                                                  {"r", "reshape", {"x"}, {{"shape", IntList{2, 12}}}},
                                                  {"y", "matmul", {"r", "w"}, {}}}));
  ASSERT_OK_AND_ASSIGN(const onnx_export::ExportedModel exported, Exported(model, "y"));
  EXPECT_FALSE(exported.any_batch);
  EXPECT_EQ(exported.model.inputs[0].dimensions[0].size, kBatch);
}

// What comes channels first needs no transposition.
TEST(ExportedGraphs, TransposeNothingTwice) {
  ASSERT_OK_AND_ASSIGN(const Model model, MadeOf({Input("x", {kBatch, 4, 5, 7}),
                                                  kFilters,
                                                  {"t", "transpose", {"x"}, {{"permutation", IntList{0, 2, 3, 1}}}},
                                                  {"c", "conv2d", {"t", "w"}, {}},
                                                  {"y", "transpose", {"c"}, {{"permutation", IntList{0, 3, 1, 2}}}}}));
  ASSERT_OK_AND_ASSIGN(const onnx_export::ExportedModel exported, Exported(model, "y"));
  ASSERT_EQ(exported.model.nodes.size(), 2u);
  EXPECT_EQ(exported.model.nodes[0].op, "Conv");
  EXPECT_EQ(exported.model.nodes[0].inputs, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(exported.model.nodes[1].op, "Identity") << "the output has its own name";
}

// A value that is a source, or another one's, is an output of its own.
TEST(ExportedGraphs, HaveOutputsThatNoNodeComputes) {
  for (const char* const value : {"x", "d", "w"}) {
    ASSERT_OK_AND_ASSIGN(const Model model, MadeOf({Input("x", {kBatch, 6}),
                                                    Weights("w", {6}),
                                                    {"d", "dropout", {"x"}, {{"rate", 0.5}}},
                                                    {"y", "bias", {"d", "w"}, {}}}));
    ASSERT_OK_AND_ASSIGN(onnx_export::ExportedModel exported, Exported(model, value));
    ASSERT_EQ(exported.model.outputs.size(), 1u);
    ASSERT_EQ(exported.model.nodes.size(), 1u);
    EXPECT_EQ(exported.model.nodes[0].op, "Identity");
    EXPECT_EQ(exported.model.nodes[0].outputs[0], exported.model.outputs[0].name);
    EXPECT_NE(exported.model.nodes[0].inputs[0], exported.model.outputs[0].name);
  }
}

// The input has the name of its field, unless a node has it already.
TEST(ExportedGraphs, NameInputsAfterTheirFields) {
  for (const auto& [field, name] : {std::pair("pictures", "pictures"), std::pair("w", "x"), std::pair("", "x")}) {
    NodeDescription input = Input("x", {kBatch, 6});
    input.attributes.Set(kField, std::string(field));
    ASSERT_OK_AND_ASSIGN(const Model model, MadeOf({input, Weights("w", {6}), {"y", "bias", {"x", "w"}, {}}}));
    ASSERT_OK_AND_ASSIGN(const onnx_export::ExportedModel exported, Exported(model, "y"));
    EXPECT_EQ(exported.model.inputs[0].name, name);
    EXPECT_EQ(exported.model.nodes[0].inputs[0], name);
  }
}

}  // namespace
}  // namespace partita
