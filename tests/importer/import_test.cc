// Programs that PyTorch exported compute here what they compute there, digit by digit, however they are split; and
// files that are none, or damaged, are refused with a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/read/predicted_value.h"
#include "graph/sets/find_set_results.h"
#include "importer/import_model.h"
#include "importer/saved_weights.h"
#include "importer/translation/translations.h"
#include "ops/registry.h"
#include "ops/values/number_op.h"
#include "partita/partita.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr double kLearningRate = 0.1;  // of a model that says none

std::string Path(const std::string& file) { return "tests/importer/models/" + file; }

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

// PyTorch's tensor in the order of ours.
std::vector<double> InOrderOf(const std::vector<double>& values, const std::vector<int64_t>& shape,
                              const torch_export::Order& order) {
  std::vector<int64_t> strides(shape.size(), 1), at(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::vector<double> ordered;
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t place = 0;
    for (size_t j = 0; j < order.size(); ++j) place += at[j] * strides[static_cast<size_t>(order[j])];
    ordered.push_back(values[static_cast<size_t>(place)]);
    for (size_t j = order.size(); j-- > 0;) {
      if (++at[j] < shape[static_cast<size_t>(order[j])]) break;
      at[j] = 0;
    }
  }
  return ordered;
}

struct Case {
  std::string model;
  int data, parts;
  std::string loss = "";   // that is added
  std::string batch = "";  // another one than the example's
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " " << c.data << "x" << c.parts << (c.loss.empty() ? "" : " ") << c.loss
       << (c.batch.empty() ? "" : " ") << c.batch;
}

class ImportedPrograms : public ::testing::TestWithParam<Case> {};

TEST_P(ImportedPrograms, TrainAsInPyTorch) {
  const auto& [name, data, parts, loss, other_batch] = GetParam();
  const bool frozen = name == "tuned";
  const std::string path = Path(name + ".pt2");
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported,
                       ImportModel(path, Ops(), {.loss = loss, .frozen_statistics = frozen}));
  const std::string which = loss + other_batch;
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile expected,
                       LoadSafetensors(Path(name + (which.empty() ? "" : "." + which) + ".safetensors")));

  auto model = api::Model::FromFile(path, {.loss = loss, .frozen_statistics = frozen});
  ASSERT_TRUE(model.ok()) << model.error().message;
  if (!other_batch.empty()) {
    model = model->WithBatch(expected.Find("in/x")->shape[0]);
    ASSERT_TRUE(model.ok()) << model.error().message;
  }
  auto session = api::Session::Start(*model, {.data = data, .model = parts}, {.f64 = true});
  ASSERT_TRUE(session.ok()) << session.error().message;

  // The batch, images with their channels last.
  std::map<std::string, std::vector<double>> images;
  api::Fields batch;
  for (const api::Field& field : model->fields()) {
    const StoredTensor* const stored = expected.Find("in/" + field.name);
    ASSERT_NE(stored, nullptr) << field.name;
    const std::span<const std::byte> bytes = expected.Bytes(*stored);
    if (field.type == api::Type::kI32) {
      batch[field.name] = {field.type, field.shape, bytes.data()};
      continue;
    }
    const bool image = stored->shape.size() == 4;
    const torch_export::Order order = image ? torch_export::kChannelsLast : torch_export::InOrder(stored->shape.size());
    images[field.name] = InOrderOf(Doubles(bytes), stored->shape, order);
    batch[field.name] = {api::Type::kF64, field.shape, images[field.name].data()};
  }
  std::map<std::string, std::vector<double>> before;
  for (const auto& state : imported.states) {
    if (state.values.empty()) before[state.name] = Doubles(session->Read(state.name)->bytes);
  }
  const auto step = session->Train(batch);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_NEAR(step->loss, Doubles(expected.Bytes(*expected.Find("loss")))[0], 1e-11);

  int64_t compared = 0;
  for (const auto& state : imported.states) {
    if (!state.values.empty()) continue;  // a constant
    const std::vector<double> after = Doubles(session->Read(state.name)->bytes);
    const StoredTensor* const gradient = expected.Find("gradient/" + state.name);
    const StoredTensor* const stored = gradient != nullptr ? gradient : expected.Find("running/" + state.name);
    if (stored == nullptr) {  // of a parameter that requires no gradient
      EXPECT_EQ(after, before[state.name]) << state.name;
      continue;
    }
    const std::vector<double> wanted = InOrderOf(Doubles(expected.Bytes(*stored)), stored->shape, state.order);
    ASSERT_EQ(after.size(), wanted.size()) << state.name;
    for (size_t i = 0; i < after.size(); ++i) {
      const double found = gradient != nullptr ? (before[state.name][i] - after[i]) / kLearningRate : after[i];
      ASSERT_NEAR(found, wanted[i], 1e-11) << state.name << "[" << i << "]";
    }
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int64_t>(expected.tensors().size()) - 3) << "in/x, in/label and loss are the others";
}

INSTANTIATE_TEST_SUITE_P(
    Models, ImportedPrograms,
    ::testing::Values(
        Case{"activations", 1, 1}, Case{"activations", 2, 1}, Case{"residual", 1, 1}, Case{"residual", 3, 1},
        Case{"residual", 1, 2}, Case{"blocks", 1, 1}, Case{"blocks", 2, 2}, Case{"windows", 1, 1},
        Case{"windows", 2, 1}, Case{"windows", 1, 2}, Case{"transformer", 1, 1}, Case{"transformer", 3, 1},
        Case{"transformer", 1, 2}, Case{"language", 1, 1}, Case{"language", 2, 1}, Case{"language", 1, 3},
        Case{"masked", 1, 1}, Case{"masked", 2, 1}, Case{"masked", 1, 2}, Case{"sizes", 1, 1}, Case{"sizes", 3, 1},
        Case{"sizes", 1, 2}, Case{"statistics", 1, 1}, Case{"statistics", 2, 1}, Case{"statistics", 1, 2},
        Case{"written", 1, 1}, Case{"written", 2, 1}, Case{"tuned", 1, 1}, Case{"tuned", 3, 1}, Case{"tuned", 1, 2},
        Case{"functions/elements", 1, 1}, Case{"functions/elements", 2, 1}, Case{"functions/elements", 1, 2},
        Case{"functions/chosen", 1, 1}, Case{"functions/chosen", 3, 1}, Case{"functions/chosen", 1, 2},
        Case{"functions/classes", 1, 1}, Case{"functions/classes", 2, 1}, Case{"functions/classes", 1, 2},
        Case{"functions/numbers", 1, 1}, Case{"functions/numbers", 2, 1}, Case{"functions/numbers", 1, 2},
        Case{"functions/batch", 1, 1}, Case{"functions/batch", 3, 1}, Case{"functions/batch", 1, 2},
        Case{"functions/contrast", 1, 1}, Case{"functions/contrast", 2, 1}, Case{"functions/contrast", 1, 2},
        Case{"functions/contrast", 1, 1, "", "wide"}, Case{"functions/contrast", 2, 1, "", "wide"},
        Case{"functions/places", 1, 1}, Case{"functions/places", 2, 1}, Case{"functions/places", 1, 2},
        Case{"functions/edges", 1, 1}, Case{"functions/edges", 2, 1}, Case{"functions/edges", 1, 2},
        Case{"functions/ordered", 1, 1}, Case{"functions/ordered", 2, 1}, Case{"functions/ordered", 1, 2},
        Case{"functions/products", 1, 1}, Case{"functions/products", 3, 1}, Case{"functions/products", 1, 2},
        Case{"patterns/places", 1, 1}, Case{"patterns/places", 2, 1}, Case{"patterns/places", 1, 2},
        Case{"patterns/places", 1, 1, "", "wide"}, Case{"patterns/places", 2, 1, "", "wide"},
        Case{"patterns/patches", 1, 1}, Case{"patterns/patches", 3, 1}, Case{"patterns/patches", 1, 2},
        Case{"patterns/experts", 1, 1}, Case{"patterns/experts", 2, 1}, Case{"patterns/experts", 1, 2},
        Case{"patterns/experts", 1, 1, "", "wide"}, Case{"patterns/views", 1, 1}, Case{"patterns/views", 2, 1},
        Case{"patterns/views", 1, 1, "", "wide"}, Case{"patterns/views", 2, 1, "", "wide"},
        Case{"functions/heads", 1, 1}, Case{"functions/heads", 2, 1}, Case{"functions/heads", 1, 2},
        Case{"padded", 1, 1}, Case{"padded", 2, 1}, Case{"padded", 1, 2},
        Case{"predictions/sample", 1, 1, "cross_entropy"}, Case{"predictions/sample", 1, 1, "mse"},
        Case{"predictions/sample", 2, 1, "l1"}, Case{"predictions/sample", 1, 2, "bce_with_logits"},
        Case{"predictions/positions", 1, 1, "cross_entropy"}, Case{"predictions/positions", 2, 1, "cross_entropy"},
        Case{"predictions/map", 1, 1, "cross_entropy"}, Case{"predictions/map", 1, 2, "cross_entropy"}));

TEST(AddedLosses, OfClassesReportAccuracy) {
  const auto metrics = [](const std::string& file, const std::string& loss) {
    const auto imported = ImportModel(Path("predictions/" + file + ".pt2"), Ops(), {.loss = loss});
    EXPECT_TRUE(imported.ok()) << imported.status();
    std::vector<std::string> names;
    for (const ValueId metric : imported->model.graph.metrics)
      names.push_back(imported->model.graph.value(metric).name);
    return names;
  };
  EXPECT_EQ(metrics("sample", "cross_entropy"), std::vector<std::string>{"accuracy"});
  EXPECT_TRUE(metrics("sample", "mse").empty());
  EXPECT_TRUE(metrics("positions", "cross_entropy").empty());
}

// What is loaded and written back has every name and digit of the module, whatever order the graph has.
TEST(SaveForPyTorch, WritesWhatTheModuleHas) {
  for (const char* const name : {"residual", "blocks", "language", "masked", "sizes"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(Path(std::string(name) + ".pt2"), Ops()));
    const std::string ours = ::testing::TempDir() + "/ours.safetensors",
                      theirs = ::testing::TempDir() + "/theirs.safetensors";
    ASSERT_OK(SaveWeights(imported, ours));
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(ours));
    ASSERT_OK(SaveForPyTorch(imported, trained, theirs));
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile module, LoadSafetensors(theirs));
    size_t persistent = 0;
    for (const auto& [weight, stored] : imported.program.weights) {
      if (!stored.is_persistent) continue;
      ++persistent;
      const StoredTensor* const tensor = module.Find(weight);
      ASSERT_NE(tensor, nullptr) << weight;
      const Shape shape = stored.meta.shape();
      EXPECT_EQ(tensor->shape, (std::vector<int64_t>{shape.begin(), shape.end()})) << weight;
      if (stored.meta.type != torch_export::ScalarType::kF64) continue;  // a counter
      ASSERT_OK_AND_ASSIGN(const std::vector<double> values,
                           torch_export::StoredValues(imported.program, weight, torch_export::InOrder(shape.size())));
      EXPECT_EQ(Doubles(module.Bytes(*tensor)), values) << weight;
    }
    EXPECT_EQ(module.tensors().size(), persistent);
  }
}

// Slots have the parameters' names and dimensions in the module; what PyTorch computes with them tests/python shows.
TEST(SaveForPyTorch, WritesTheOptimizersState) {
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(Path("residual.pt2"), Ops()));
  const auto& graph = imported.model.graph;
  std::deque<std::vector<double>> values;
  std::vector<NamedTensor> tensors;
  for (const auto& state : imported.states) {
    if (graph.node(graph.value(graph.Find(state.name)).producer).op->name != "parameter") continue;
    const Shape& shape = graph.type(graph.Find(state.name)).shape;
    for (const double offset : {0.0, 0.5}) {
      std::vector<double>& slot = values.emplace_back(static_cast<size_t>(Elements(shape)));
      for (size_t i = 0; i < slot.size(); ++i) slot[i] = static_cast<double>(i) + offset;
      tensors.push_back({state.name + (offset == 0 ? "@mean" : "@mean_square"),
                         DType::kF64,
                         {shape.begin(), shape.end()},
                         std::as_bytes(std::span(slot))});
    }
  }
  const int32_t steps = 7;
  const std::string ours = ::testing::TempDir() + "/slots.safetensors",
                    theirs = ::testing::TempDir() + "/optimizer.safetensors";
  ASSERT_OK(SaveSafetensors(ours, tensors, {}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile without, LoadSafetensors(ours));
  EXPECT_THAT(std::string(SaveOptimizerForPyTorch(imported, without, theirs).message()), HasSubstr("number of steps"));
  tensors.push_back({"@iteration", DType::kI32, {}, std::as_bytes(std::span(&steps, 1))});
  ASSERT_OK(SaveSafetensors(ours, tensors, {}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(ours));
  ASSERT_OK(SaveOptimizerForPyTorch(imported, trained, theirs));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile optimizer, LoadSafetensors(theirs));
  EXPECT_EQ(optimizer.tensors().size(), values.size() + 1);
  // [out, h, w, in] here, [out, in, h, w] there.
  const StoredTensor* const mean = optimizer.Find("model.stem.weight.exp_avg");
  ASSERT_NE(mean, nullptr);
  EXPECT_EQ(mean->shape, (std::vector<int64_t>{8, 3, 3, 3}));
  EXPECT_EQ(Doubles(optimizer.Bytes(*mean))[9], 1);  // channel 1 of the first pixel
  const StoredTensor* const square = optimizer.Find("model.stem.weight.exp_avg_sq");
  ASSERT_NE(square, nullptr);
  EXPECT_EQ(Doubles(optimizer.Bytes(*square))[1], 3.5);  // channel 0 of the second pixel
  float step = 0;
  std::memcpy(&step, optimizer.Bytes(*optimizer.Find("step")).data(), sizeof(step));
  EXPECT_EQ(step, 7);

  ASSERT_OK(SaveWeights(imported, ours));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile weights, LoadSafetensors(ours));
  EXPECT_THAT(std::string(SaveOptimizerForPyTorch(imported, weights, theirs).message()),
              HasSubstr("has no slots of an optimizer"));
}

TEST(SaveForPyTorch, RefusesWeightsOfAnotherModel) {
  ASSERT_OK_AND_ASSIGN(const ImportedModel residual, ImportModel(Path("residual.pt2"), Ops()));
  ASSERT_OK_AND_ASSIGN(const ImportedModel language, ImportModel(Path("language.pt2"), Ops()));
  const std::string weights = ::testing::TempDir() + "/language.safetensors";
  ASSERT_OK(SaveWeights(language, weights));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(weights));
  const absl::Status refused = SaveForPyTorch(residual, trained, ::testing::TempDir() + "/none.safetensors");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("language.safetensors: has no tensor 'model."));
  EXPECT_FALSE(std::filesystem::exists(::testing::TempDir() + "/none.safetensors"));
}

// Images stay channels last from the first convolution to the end.
TEST(ImportedGraphs, MoveLittle) {
  for (const auto& [name, most] : std::map<std::string, int>{{"residual", 1}, {"blocks", 0}, {"transformer", 0}}) {
    ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(Path(name + ".pt2"), Ops()));
    int transposes = 0;
    for (const Node& node : imported.model.graph.nodes()) transposes += node.op->name == "transpose" ? 1 : 0;
    EXPECT_LE(transposes, most) << name;
  }
}

TEST(ImportedGraphs, FitAnyBatch) {
  for (const char* const name : {"activations",
                                 "residual",
                                 "blocks",
                                 "windows",
                                 "transformer",
                                 "language",
                                 "masked",
                                 "sizes",
                                 "statistics",
                                 "padded",
                                 "functions/elements",
                                 "functions/chosen",
                                 "functions/classes",
                                 "functions/numbers",
                                 "functions/batch",
                                 "functions/contrast",
                                 "functions/ordered",
                                 "functions/products",
                                 "functions/heads",
                                 "functions/edges",
                                 "functions/places"}) {
    auto model = api::Model::FromFile(Path(std::string(name) + ".pt2"));
    ASSERT_TRUE(model.ok()) << model.error().message;
    for (const int64_t batch : {1, 3, 8}) {
      const auto sized = model->WithBatch(batch);
      ASSERT_TRUE(sized.ok()) << name << ": " << sized.error().message;
      for (const api::Field& field : sized->fields()) EXPECT_EQ(field.shape[0], batch);
    }
  }
}

// Samples are weighed behind attention over [places, samples, channels] too, so that a set need not be a multiple of
// the batch; a loss that compares samples is of its batch.
TEST(ImportedGraphs, EvaluateSetsOfAnySizeWhereSamplesAreApart) {
  const auto weighs = [](const std::string& name) {
    const auto imported = ImportModel(Path(name + ".pt2"), Ops());
    EXPECT_TRUE(imported.ok()) << imported.status();
    const auto results = FindSetResults(imported->model, Ops(), IsOnNumbers);
    EXPECT_TRUE(results.ok()) << results.status();
    return std::ranges::all_of(results->terms, [](const SetTerm& term) {
      return term.result < 0 || term.same || (term.decided && term.zero_with.contains(kSampleWeightName));
    });
  };
  for (const char* const name : {"functions/heads", "functions/products", "language", "masked", "transformer"}) {
    EXPECT_TRUE(weighs(name)) << name;
  }
  EXPECT_FALSE(weighs("functions/contrast"));
}

// The table of docs/guide/pytorch.md 5 has every op, and no other.
TEST(ImportedGraphs, AreMadeOfOpsThatTheGuideLists) {
  std::string guide = BytesOf("docs/guide/pytorch.md");
  guide = guide.substr(guide.find("| family | ops of PyTorch |"));
  guide = guide.substr(0, guide.find("\n\n"));
  std::erase(guide, '\\');
  std::set<std::string> listed;
  std::string word;
  bool beside = false;  // an explanation in parentheses
  for (const char c : guide) {
    if (c == '(' || c == ')') beside = c == '(';
    if (!beside && (std::isalnum(static_cast<unsigned char>(c)) || c == '_')) {
      word += c;
      continue;
    }
    if (!word.empty()) listed.insert(word);
    word.clear();
  }
  std::set<std::string> missing;
  for (const std::string& op : torch_export::TranslatedOps()) {
    if (listed.erase(op) == 0) missing.insert(op);
  }
  for (const char* const word_of_table :
       {"family", "ops", "of", "PyTorch", "element", "by", "comparisons", "and", "logic", "random", "numbers", "shapes",
        "places", "images", "layers", "reductions", "losses"}) {
    listed.erase(word_of_table);
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
  EXPECT_THAT(listed, ::testing::IsEmpty());
}

// A loss of several nodes hides none of the predictions.
TEST(ImportedGraphs, PredictWhatTheLossComparesWithLabels) {
  const auto predicted = [](const std::string& file, const std::string& loss) {
    const auto imported = ImportModel(Path(file + ".pt2"), Ops(), {.loss = loss});
    EXPECT_TRUE(imported.ok()) << imported.status();
    const ValueId value = PredictedValueOf(imported->model.graph);
    return value == kNoValue ? "" : imported->model.graph.value(value).name;
  };
  for (const char* const loss : {"cross_entropy", "mse", "l1", "bce_with_logits"}) {
    EXPECT_EQ(predicted("predictions/sample", loss), "linear_1") << loss;
  }
  EXPECT_EQ(predicted("residual", ""), "linear_1");
  EXPECT_EQ(predicted("statistics", ""), "linear_1");
}

std::string Refusal(const std::string& path) {
  const auto imported = ImportModel(path, Ops());
  EXPECT_TRUE(absl::IsInvalidArgument(imported.status())) << imported.status();
  return std::string(imported.status().message());
}

TEST(ImportRefuses, FilesThatAreNoExportedPrograms) {
  EXPECT_THAT(Refusal(Path("none.pt2")), HasSubstr("none.pt2"));
  EXPECT_THAT(Refusal(Written("text.pt2", "x: 1\n")), HasSubstr("expected the zip archive of an exported program"));
  EXPECT_THAT(Refusal(Path("refused/compressed.pt2")), HasSubstr("is compressed; expected members that are stored"));
  EXPECT_THAT(Refusal(Path("refused/outside.pt2")), HasSubstr("has a path that leads out of the archive"));
  EXPECT_THAT(Refusal(Path("refused/twice.pt2")), HasSubstr("is there twice"));
  EXPECT_THAT(Refusal(Path("refused/checkpoint.pt2")), HasSubstr("is a PyTorch checkpoint (torch.save), not an"));
  EXPECT_THAT(Refusal(Path("refused/script.pt2")), HasSubstr("is a TorchScript archive (torch.jit.save), not an"));
  EXPECT_THAT(Refusal(Path("refused/deep.pt2")), HasSubstr("JSON is nested more than 64 levels deep"));
  EXPECT_THAT(Refusal(Path("refused/version.pt2")), HasSubstr("schema version 5 (PyTorch 2.3.0); expected 8"));
}

TEST(ImportRefuses, ProgramsWithoutATranslation) {
  EXPECT_THAT(Refusal(Path("refused/logits.pt2")), HasSubstr("returns no scalar; expected its loss"));
  const absl::Status has_loss = ImportModel(Path("residual.pt2"), Ops(), {.loss = "mse"}).status();
  EXPECT_THAT(std::string(has_loss.message()), HasSubstr("returns a scalar, its loss; --loss=mse is for one"));
  const std::string evaluated = Refusal(Path("refused/evaluation.pt2"));
  EXPECT_THAT(evaluated, HasSubstr("a batch norm of a module in evaluation; call module.train()"));
  EXPECT_OK(ImportModel(Path("refused/evaluation.pt2"), Ops(), {.frozen_statistics = true}).status());
  const std::string unknown = Refusal(Path("refused/unknown.pt2"));
  EXPECT_THAT(unknown, HasSubstr("2 of its"));
  EXPECT_THAT(unknown,
              HasSubstr("node 'fft_fft' (torch.ops.aten.fft_fft.default of model.first): there is no translation"));
  EXPECT_THAT(unknown, HasSubstr("of model.second"));
}

// Each says what to do about it.
TEST(ImportRefuses, WhatCannotBeTrained) {
  EXPECT_THAT(Refusal(Path("refused/branch.pt2")),
              HasSubstr("branches or loops on data (a graph inside a node); export a module whose forward takes one"));
  EXPECT_THAT(Refusal(Path("refused/own_op.pt2")),
              HasSubstr("(torch.ops.mine.twice.default of model): there is no translation of this op, which is not "
                        "PyTorch's own"));
  EXPECT_THAT(Refusal(Path("refused/decomposed.pt2")),
              HasSubstr("of which programs consist after run_decompositions; save what torch.export.export returns"));
  EXPECT_THAT(Refusal(Path("refused/pickled.pt2")),
              HasSubstr("tensor 'model.linear.bias': it is pickled, and pickles are not opened"));
  const auto read = [](const std::string& path) { return std::string(ReadModelFile(path, Ops()).status().message()); };
  for (const char* const name : {"model.pt", "model.pth", "pytorch_model.bin", "last.ckpt"}) {
    EXPECT_THAT(read(name), HasSubstr("is a PyTorch checkpoint by its name, not an exported program")) << name;
  }
  EXPECT_THAT(read("model.safetensors"),
              HasSubstr("has weights and no graph; expected a graph or an exported program"));
}

TEST(ImportRefuses, WritesIntoAViewOfWhatIsReadBehindThem) {
  EXPECT_THAT(Refusal(Path("refused/diagonal.pt2")),
              HasSubstr("(torch.ops.aten.fill_.Scalar of model): it writes into a tensor that is read under another"));
}

// What training here would not change.
TEST(ImportRefuses, StatesThatTheModuleWrites) {
  EXPECT_THAT(Refusal(Path("refused/averaging.pt2")), HasSubstr("it writes into the buffer 'model.center'"));
  EXPECT_THAT(Refusal(Path("refused/reading.pt2")), HasSubstr("reads the running statistic 'model.norm.running_mean'"));
  EXPECT_THAT(Refusal(Path("refused/instance.pt2")), HasSubstr("an instance norm with running statistics"));
  EXPECT_THAT(Refusal(Path("refused/spectral.pt2")),
              HasSubstr("a spectral norm changes its buffer 'model.parametrizations.weight.0._u' in each step"));
  EXPECT_OK(ImportModel(Path("refused/spectral_evaluation.pt2"), Ops()).status());
}

// Multiples of the batch's size are counted; others are no numbers of a graph that fits every batch.
TEST(ImportRefuses, NumbersOfTheBatch) {
  EXPECT_THAT(Refusal(Path("refused/by_batch.pt2")), HasSubstr("it computes with a number that varies with the batch"));
  const std::string refusal = Refusal(Path("refused/of_example.pt2"));
  for (const char* const reason :
       {"(torch.ops.aten.clamp.default of model): it computes with a number that varies with the batch",
        "(torch.ops.aten.masked_fill.Scalar of model): it computes with a number that varies with the batch"}) {
    EXPECT_THAT(refusal, HasSubstr(reason));
  }
}

// A byte that differs, and a file that ends early, are an error or change nothing that is read.
TEST(ImportRefuses, DamagedFiles) {
  const std::string whole = BytesOf(Path("language.pt2"));
  ASSERT_GT(whole.size(), 1000u);
  for (size_t at = 0; at < whole.size(); at += 61) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto imported = ImportModel(Written("damaged.pt2", damaged), Ops());
    if (imported.ok()) {
      EXPECT_EQ(imported->states.size(), 6u) << at;
    }
  }
  // Weights are read, and compared with their checksums, when they are wanted.
  ASSERT_OK_AND_ASSIGN(const ImportedModel sound, ImportModel(Path("language.pt2"), Ops()));
  for (const auto& [name, weight] : sound.program.weights) {
    std::string damaged = whole;
    damaged[static_cast<size_t>(weight.member.begin)] ^= 1;
    ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(Written("damaged.pt2", damaged), Ops()));
    const absl::Status saved = SaveWeights(imported, ::testing::TempDir() + "/damaged.safetensors");
    EXPECT_THAT(std::string(saved.message()), HasSubstr("member '" + name + "' is damaged"));
  }
  for (size_t size = 0; size < whole.size(); size += 997) {
    EXPECT_FALSE(ImportModel(Written("short.pt2", whole.substr(0, size)), Ops()).ok()) << size;
  }
}

}  // namespace
}  // namespace partita
