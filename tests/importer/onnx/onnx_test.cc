// ONNX models compute here what PyTorch computes with the modules that they were exported from, digit by digit, however
// they are split and whatever the batch; and files that are none, or lead elsewhere, are refused with a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "importer/import_model.h"
#include "importer/onnx/lowering.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "partita/partita.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr double kLearningRate = 0.1;  // of a model that says none

std::string Path(const std::string& file) { return "tests/importer/onnx/models/" + file; }

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

std::vector<double> Doubles(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

// The file's tensor in the order of ours.
std::vector<double> InOrderOf(const StoredTensor& tensor, const std::vector<double>& values,
                              const torch_export::Order& order) {
  const std::vector<int64_t> strides = torch_export::RowMajor(Shape(tensor.shape.begin(), tensor.shape.end()));
  Shape lying;
  std::vector<int64_t> own;
  for (const int d : order) {
    lying.push_back(tensor.shape[static_cast<size_t>(d)]);
    own.push_back(strides[static_cast<size_t>(d)]);
  }
  std::vector<double> ordered;
  for (const int64_t place : torch_export::PlacesOf(lying, own, 0)) {
    ordered.push_back(values[static_cast<size_t>(place)]);
  }
  return ordered;
}

struct Case {
  std::string model;
  int data, parts;
  bool frozen = false;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " " << c.data << "x" << c.parts << (c.frozen ? " frozen" : "");
}

class OnnxModels : public ::testing::TestWithParam<Case> {};

TEST_P(OnnxModels, TrainAsInPyTorch) {
  const auto& [name, data, parts, frozen] = GetParam();
  const bool of_graph = name == "forms" || name == "local" || name == "scattered";
  const std::string loss = of_graph ? "mse" : "cross_entropy";
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported,
                       ImportModel(Path(name + ".onnx"), Ops(), {.loss = loss, .frozen_statistics = frozen}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile expected,
                       LoadSafetensors(Path("steps/" + name + (frozen ? ".frozen" : "") + ".safetensors")));
  const auto file = api::Model::FromFile(Path(name + ".onnx"), {.loss = loss, .frozen_statistics = frozen});
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto model = file->WithBatch(expected.Find("in/x")->shape[0]);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto session = api::Session::Start(*model, {.data = data, .model = parts}, {.f64 = true});
  ASSERT_TRUE(session.ok()) << session.error().message;

  std::map<std::string, std::vector<double>> values;
  api::Fields batch;
  for (const api::Field& field : model->fields()) {
    const StoredTensor* const stored = expected.Find("in/" + field.name);
    ASSERT_NE(stored, nullptr) << field.name;
    if (field.type == api::Type::kI32) {
      batch[field.name] = {field.type, field.shape, expected.Bytes(*stored).data()};
      continue;
    }
    const bool image = imported.channels_last.contains(field.name);
    values[field.name] = InOrderOf(*stored, Doubles(expected.Bytes(*stored)),
                                   image ? torch_export::kChannelsLast : torch_export::InOrder(stored->shape.size()));
    batch[field.name] = {api::Type::kF64, field.shape, values[field.name].data()};
  }
  std::map<std::string, std::vector<double>> before;
  for (const auto& state : imported.states) {
    if (state.values.empty()) before[state.name] = Doubles(session->Read(state.name)->bytes);
  }
  const auto step = session->Train(batch);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_NEAR(step->loss, Doubles(expected.Bytes(*expected.Find("loss")))[0], 1e-11);

  size_t compared = 0;
  for (const auto& state : imported.states) {
    const StoredTensor* const gradient = expected.Find("gradient/" + state.name);
    const StoredTensor* const stored = gradient != nullptr ? gradient : expected.Find("running/" + state.name);
    if (stored == nullptr) continue;  // a constant, or weights that PyTorch has otherwise
    const std::vector<double> after = Doubles(session->Read(state.name)->bytes);
    const std::vector<double> wanted = InOrderOf(*stored, Doubles(expected.Bytes(*stored)), state.order);
    ASSERT_EQ(after.size(), wanted.size()) << state.name;
    for (size_t i = 0; i < after.size(); ++i) {
      const double found = gradient != nullptr ? (before[state.name][i] - after[i]) / kLearningRate : after[i];
      ASSERT_NEAR(found, wanted[i], 1e-10) << state.name << "[" << i << "]";
    }
    ++compared;
  }
  EXPECT_EQ(compared, expected.tensors().size() - 3) << "in/x, in/label and loss are the others";
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxModels,
                         ::testing::Values(Case{"residual", 1, 1}, Case{"residual", 3, 1}, Case{"residual", 1, 2},
                                           Case{"residual", 1, 1, true}, Case{"residual", 2, 1, true},
                                           Case{"folded", 1, 1}, Case{"folded", 1, 2}, Case{"blocks", 1, 1},
                                           Case{"blocks", 2, 2}, Case{"transformer", 1, 1}, Case{"transformer", 3, 1},
                                           Case{"transformer", 1, 2}, Case{"attention", 1, 1}, Case{"attention", 1, 2},
                                           Case{"patches", 1, 1}, Case{"patches", 2, 1}, Case{"windows", 1, 1},
                                           Case{"windows", 1, 2}, Case{"functions", 1, 1}, Case{"functions", 2, 1},
                                           Case{"decoder", 1, 1}, Case{"decoder", 2, 1}, Case{"recurrent", 1, 1},
                                           Case{"recurrent", 2, 1}, Case{"fixed", 1, 1}, Case{"fixed", 3, 1},
                                           Case{"forms", 1, 1}, Case{"forms", 2, 1}, Case{"local", 1, 1},
                                           Case{"local", 2, 1}, Case{"scattered", 1, 1}, Case{"scattered", 2, 1}));

TEST(OnnxModels, HaveTheBatchOfTheFileOrTheDefault) {
  for (const char* const name : {"transformer", "fixed"}) {
    const auto model = api::Model::FromFile(Path(std::string(name) + ".onnx"), {.loss = "cross_entropy"});
    ASSERT_TRUE(model.ok()) << model.error().message;
    for (const api::Field& field : model->fields()) EXPECT_EQ(field.shape[0], 32) << name;
  }
}

// Under the names that PyTorch has, where the exporter kept them.
TEST(OnnxModels, NameWeightsAsTheFileDoes) {
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported,
                       ImportModel(Path("residual.onnx"), Ops(), {.loss = "cross_entropy"}));
  std::map<std::string, std::string> ops;
  for (const Node& node : imported.model.graph.nodes()) {
    for (const ValueId output : node.outputs) ops[imported.model.graph.value(output).name] = node.op->name;
  }
  EXPECT_EQ(ops["stem.weight"], "parameter");
  EXPECT_EQ(ops["norm.bias"], "parameter");
  EXPECT_EQ(ops["norm.running_var"], "state");

  const std::string ours = ::testing::TempDir() + "/ours.safetensors",
                    theirs = ::testing::TempDir() + "/theirs.safetensors";
  ASSERT_OK(SaveWeights(imported, ours));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(ours));
  ASSERT_OK(SaveForPyTorch(imported, trained, theirs));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile module, LoadSafetensors(theirs));
  EXPECT_EQ(trained.Find("stem.weight")->shape, (std::vector<int64_t>{8, 3, 3, 3}));
  ASSERT_NE(module.Find("head.weight"), nullptr);
  ASSERT_OK_AND_ASSIGN(const std::vector<double> stem,
                       torch_export::StoredValues(imported.program, "stem.weight", torch_export::InOrder(4)));
  EXPECT_EQ(Doubles(module.Bytes(*module.Find("stem.weight"))), stem);
}

// A model with trained weights is the file with other bytes in their places.
TEST(OnnxModels, TakeTrainedWeightsBack) {
  const std::string path = Path("residual.onnx"), tuned = ::testing::TempDir() + "/tuned.onnx",
                    saved = ::testing::TempDir() + "/trained.safetensors";
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(path, Ops(), {.loss = "cross_entropy"}));
  const auto model = api::Model::FromFile(path, {.loss = "cross_entropy"});
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto session = api::Session::Start(*model, {}, {.f64 = true});
  ASSERT_TRUE(session.ok()) << session.error().message;
  std::vector<double> pixels(32 * 16 * 16 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<double>(i % 17) / 17;
  const std::vector<int32_t> labels(32, 3);
  const auto step = session->Train(
      {{"x", {api::Type::kF64, {32, 16, 16, 3}, pixels.data()}}, {"label", {api::Type::kI32, {32}, labels.data()}}});
  ASSERT_TRUE(step.ok()) << step.error().message;
  ASSERT_FALSE(session->Save(saved).has_value());
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(saved));
  ASSERT_OK(SaveForOnnx(imported, trained, tuned));
  EXPECT_EQ(BytesOf(tuned).size(), BytesOf(path).size());
  ASSERT_OK_AND_ASSIGN(const ImportedModel again, ImportModel(tuned, Ops(), {.loss = "cross_entropy"}));
  size_t compared = 0;
  for (const auto& state : again.states) {
    if (!state.values.empty() || !again.program.weights.at(state.name).is_persistent) continue;
    ASSERT_OK_AND_ASSIGN(const std::vector<double> values,
                         torch_export::StoredValues(again.program, state.name, state.order));
    EXPECT_EQ(values, Doubles(session->Read(state.name)->bytes)) << state.name;
    ++compared;
  }
  EXPECT_EQ(compared, 19u);

  ASSERT_OK_AND_ASSIGN(const ImportedModel beside, ImportModel(Path("blocks.onnx"), Ops(), {.loss = "cross_entropy"}));
  ASSERT_OK(SaveWeights(beside, saved));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile own, LoadSafetensors(saved));
  EXPECT_THAT(std::string(SaveForOnnx(beside, own, tuned).message()), HasSubstr("not among the bytes of the file"));
}

// Weights in half precision are rounded to what is nearest; a number that is too large is refused.
TEST(OnnxModels, TakeTrainedWeightsBackInHalfPrecision) {
  const std::string path = Path("halves.onnx"), tuned = ::testing::TempDir() + "/halves.onnx";
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(path, Ops(), {.loss = "mse"}));
  const auto written = [&](float number) {
    std::vector<float> w(24, 0.1F), b = {number, -1e-7F, 2049, -0.0F};
    const std::vector<NamedTensor> tensors = {{"w", DType::kF32, {4, 6}, std::as_bytes(std::span(w))},
                                              {"b", DType::kF32, {4}, std::as_bytes(std::span(b))}};
    const std::string trained = ::testing::TempDir() + "/halves.safetensors";
    EXPECT_OK(SaveSafetensors(trained, tensors, {}));
    const auto file = LoadSafetensors(trained);
    EXPECT_TRUE(file.ok()) << file.status();
    return SaveForOnnx(imported, *file, tuned);
  };
  ASSERT_OK(written(65519));
  ASSERT_OK_AND_ASSIGN(const ImportedModel again, ImportModel(tuned, Ops(), {.loss = "mse"}));
  ASSERT_OK_AND_ASSIGN(const std::vector<double> b,
                       torch_export::StoredValues(again.program, "b", torch_export::InOrder(1)));
  EXPECT_EQ(b, (std::vector<double>{65504, -std::ldexp(2, -24), 2048, 0})) << "as numpy.float16 rounds";
  ASSERT_OK_AND_ASSIGN(const std::vector<double> w,
                       torch_export::StoredValues(again.program, "w", torch_export::InOrder(2)));
  EXPECT_EQ(w[23], 0.0999755859375);
  EXPECT_THAT(std::string(written(65520).message()), HasSubstr("tensor 'b': 65520 is no float16"));
}

// The table of docs/guide/onnx.md has every op, and no other.
TEST(OnnxModels, AreMadeOfOpsThatTheGuideLists) {
  std::string guide = BytesOf("docs/guide/onnx.md");
  guide = guide.substr(guide.find("| family | ops of ONNX |"));
  guide = guide.substr(guide.find('\n'), guide.find("\n\n") - guide.find('\n'));
  std::set<std::string> listed;
  std::string word;
  bool beside = false;  // an explanation in parentheses
  for (const char c : guide) {
    if (c == '(' || c == ')') beside = c == '(';
    if (!beside && std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (!word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0) listed.insert(word);
    word.clear();
  }
  std::set<std::string> lowered = {"Shape", "Size"};
  for (const std::string& op : onnx::LoweredOps()) lowered.insert(op);
  EXPECT_EQ(listed, lowered);
}

std::string Refusal(const std::string& path, const ImportOptions& options = {.loss = "mse"}) {
  const auto imported = ImportModel(path, Ops(), options);
  EXPECT_TRUE(absl::IsInvalidArgument(imported.status())) << imported.status();
  EXPECT_THAT(std::string(imported.status().message()), HasSubstr(path));
  return std::string(imported.status().message());
}

TEST(OnnxRefuses, FilesThatAreNoModels) {
  EXPECT_THAT(Refusal(Path("none.onnx")), HasSubstr("none.onnx"));
  EXPECT_THAT(Refusal(Written("empty.onnx", "")), HasSubstr("is empty"));
  EXPECT_THAT(Refusal(Written("text.onnx", "ir_version: 8\n")), HasSubstr("expected an ONNX model"));
  EXPECT_THAT(Refusal(Written("zeros.onnx", std::string(100, '\0'))), HasSubstr("no part of a protobuf message"));
  EXPECT_THAT(Refusal(Path("refused/old.onnx")), HasSubstr("opset is 6; expected 7 to 27: convert it"));
  EXPECT_THAT(Refusal(Path("refused/new.onnx")), HasSubstr("opset is 99; expected 7 to 27"));
  EXPECT_THAT(Refusal(Path("refused/open.onnx")), HasSubstr("input 'x': its dimension 1 (height) has no size"));
  EXPECT_THAT(Refusal(Path("refused/sequence.onnx")), HasSubstr("input 's': it is no tensor"));
  EXPECT_THAT(Refusal(Path("blocks.onnx"), {}), HasSubstr("returns no scalar; expected its loss: add one"));
}

// Each node that cannot be read is named, but for those that nothing needs.
TEST(OnnxRefuses, NodesWithoutATranslation) {
  const std::string refusal = Refusal(Path("refused/ops.onnx"));
  EXPECT_THAT(refusal, HasSubstr("3 of its"));
  EXPECT_THAT(refusal, HasSubstr("node 'first' (Det): there is no translation of this op"));
  EXPECT_THAT(refusal, HasSubstr("node 'b' (Fused): the op is of domain 'vendor'"));
  EXPECT_THAT(refusal, HasSubstr("node 'y' (TopK): there is no translation of this op"));
  EXPECT_THAT(refusal, ::testing::Not(HasSubstr("unread")));
  EXPECT_THAT(Refusal(Path("refused/quantised.onnx")), HasSubstr("the model is quantised"));
  EXPECT_THAT(Refusal(Path("refused/branches.onnx")), HasSubstr("the model branches or loops"));
}

TEST(OnnxRefuses, FunctionsThatNeverEnd) {
  EXPECT_THAT(Refusal(Path("refused/recursive.onnx")), HasSubstr("function 'F0': calls itself"));
  EXPECT_THAT(Refusal(Path("refused/doubling.onnx")), HasSubstr("calls of its functions have more than 200000 nodes"));
  EXPECT_THAT(Refusal(Path("refused/inputs.onnx")), HasSubstr("a node has 2 inputs and 1 outputs of it"));
}

TEST(OnnxRefuses, WritesAtOtherPlaces) {
  const std::string refusal = Refusal(Path("refused/scattered.onnx"));
  EXPECT_THAT(refusal, HasSubstr("node 'sample' (ScatterND): what it writes is not of each sample"));
  EXPECT_THAT(refusal, HasSubstr("node 'added' (ScatterND): it combines what it writes"));
}

TEST(OnnxRefuses, DataThatAreNotBesideTheModel) {
  EXPECT_THAT(Refusal(Path("refused/missing.onnx")), HasSubstr("none.bin"));
  EXPECT_THAT(Refusal(Path("refused/outside.onnx")), HasSubstr("'../forms.onnx' leave the model's folder"));
  EXPECT_THAT(Refusal(Path("refused/absolute.onnx")), HasSubstr("'/etc/passwd' leave the model's folder"));
  EXPECT_THAT(Refusal(Path("refused/short.onnx")), HasSubstr("short.bin: has 63 bytes; its elements end at 64"));
  const std::string folder = ::testing::TempDir() + "/linked";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(Path("refused/linked.onnx"), folder + "/linked.onnx",
                             std::filesystem::copy_options::overwrite_existing);
  std::error_code ignored;
  std::filesystem::remove(folder + "/linked.bin", ignored);
  std::filesystem::create_symlink("/etc/passwd", folder + "/linked.bin");
  EXPECT_THAT(Refusal(folder + "/linked.onnx"), HasSubstr("'linked.bin' lie behind a link"));
}

TEST(OnnxRefuses, SizesBeforeMemoryIsTaken) {
  EXPECT_THAT(Refusal(Path("refused/sizes.onnx")), HasSubstr("tensor 'w'"));
  EXPECT_THAT(Refusal(Path("refused/many.onnx")), HasSubstr("node 'c' (ConstantOfShape)"));
  // A packed list of 2^25 axes, each in one byte.
  std::string axes(size_t{1} << 25, '\1'), attribute, node, graph;
  const auto field = [](int number, const std::string& bytes) {
    std::string text(1, static_cast<char>(number << 3 | 2));
    for (size_t size = bytes.size();; size >>= 7) {
      text += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) break;
    }
    return text + bytes;
  };
  const std::string opset = field(8, std::string("\x10\x11", 2));
  EXPECT_THAT(Refusal(Written("axes.onnx", field(7, field(1, field(5, field(8, axes)))) + opset)),
              HasSubstr("more than 16777216 nodes, names and numbers"));
  // And so many nodes of two bytes.
  std::string nodes;
  for (int i = 0; i < 200'001; ++i) nodes += field(1, "");
  EXPECT_THAT(Refusal(Written("nodes.onnx", field(7, nodes) + opset)), HasSubstr("more than 200000 nodes"));
}

// A byte that differs, and a file that ends early, are an error or change nothing but what is read.
TEST(OnnxRefuses, DamagedFiles) {
  const std::string whole = BytesOf(Path("windows.onnx"));
  ASSERT_GT(whole.size(), 1000u);
  for (size_t at = 0; at < whole.size(); at += 17) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    (void)ImportModel(Written("damaged.onnx", damaged), Ops(), {.loss = "cross_entropy"}).status();
  }
  for (size_t size = 0; size < whole.size(); size += 101) {
    EXPECT_FALSE(ImportModel(Written("short.onnx", whole.substr(0, size)), Ops(), {.loss = "cross_entropy"}).ok())
        << size;
  }
}

}  // namespace
}  // namespace partita
