// Adapters (LoRA) and groups of parameters by settings compute what PEFT and PyTorch do, under every split; make.py
// wrote what is expected. Adapters go to PEFT's files and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

#include "graph/proto_io/proto_io.h"
#include "graph/read/adapted_model.h"
#include "importer/import_model.h"
#include "importer/merged_adapters.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "partita/partita.h"
#include "runtime/checkpoint/adapter_folder.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Settings = std::map<std::string, std::string>;

constexpr char kNet[] = "tests/importer/adapters/net.pt2";
constexpr char kPeft[] = "tests/importer/adapters/peft";
constexpr char kLogits[] = "linear_2";

const SafetensorsFile& Expected() {
  static const auto& file = *new SafetensorsFile(*LoadSafetensors("tests/importer/adapters/expected.safetensors"));
  return file;
}

std::vector<double> Doubles(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

std::vector<double> Wanted(const std::string& name) { return Doubles(Expected().Bytes(*Expected().Find(name))); }

std::vector<std::string> NamesBehind(const std::string& prefix) {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : Expected().tensors()) {
    if (tensor.name.starts_with(prefix)) names.push_back(tensor.name.substr(prefix.size()));
  }
  return names;
}

api::Model Net() { return *api::Model::FromFile(kNet); }

api::Fields Batch(bool labels = true) {
  api::Fields fields{{"x", {api::Type::kF64, {6, 4, 6}, Expected().Bytes(*Expected().Find("in/x")).data()}}};
  if (labels) fields["label"] = {api::Type::kI32, {6}, Expected().Bytes(*Expected().Find("in/label")).data()};
  return fields;
}

api::Result<api::Session> Start(const Settings& settings, const api::Split& split = {}) {
  return api::Session::Start(Net(), split, {.f64 = true, .predict = {kLogits}, .settings = settings});
}

std::vector<double> Read(const api::Session& session, const std::string& name) {
  return Doubles(session.Read(name)->bytes);
}

std::string Refusal(const Settings& settings) {
  const auto session = Start(settings);
  return session.ok() ? "" : session.error().message;
}

std::string Temporary(const std::string& name) { return ::testing::TempDir() + "/" + name; }

class Splits : public ::testing::TestWithParam<std::pair<int, int>> {
 protected:
  api::Split split() const { return {.data = GetParam().first, .model = GetParam().second}; }
};
INSTANTIATE_TEST_SUITE_P(All, Splits,
                         ::testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(4, 1), std::pair(1, 2),
                                           std::pair(1, 3), std::pair(2, 2)));

TEST_P(Splits, OneStepHasTheGradientsOfPeft) {
  api::Result<api::Session> session = Start({{"load-adapter", kPeft}, {"learning-rate", "1"}}, split());
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_THAT(Doubles(session->Predict(Batch(false))->at(kLogits).bytes),
              Pointwise(DoubleNear(1e-13), Wanted("logits")));
  std::map<std::string, std::vector<double>> before;
  for (const std::string& name : session->states()) before[name] = Read(*session, name);
  const auto step = session->Train(Batch());
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_NEAR(step->loss, Wanted("loss")[0], 1e-13);
  const std::vector<std::string> trained = NamesBehind("gradient/");
  ASSERT_EQ(trained.size(), 6u);
  for (const std::string& name : trained) {
    const std::vector<double> after = Read(*session, name), wanted = Wanted("gradient/" + name);
    ASSERT_EQ(after.size(), wanted.size()) << name;
    for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(before[name][i] - after[i], wanted[i], 1e-13) << name;
  }
  for (const char* const frozen : {"q.weight", "q.bias", "norm.weight", "norm.bias", "v.weight"}) {
    EXPECT_EQ(Read(*session, frozen), before[frozen]) << frozen;
  }
}

TEST_P(Splits, ThreeStepsEndWhereThoseOfPeftDo) {
  const std::pair<const char*, Settings> runs[] = {
      {"sgd/", {{"optimizer", "sgd"}, {"learning-rate", "0.1"}}},
      {"adamw/", {{"optimizer", "adamw,weight_decay=0.1"}, {"learning-rate", "0.01"}}}};
  for (const auto& [prefix, optimizer] : runs) {
    Settings settings = optimizer;
    settings["load-adapter"] = kPeft;
    api::Result<api::Session> session = Start(settings, split());
    ASSERT_TRUE(session.ok()) << session.error().message;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->Train(Batch()).ok());
    for (const std::string& name : NamesBehind(prefix)) {
      EXPECT_THAT(Read(*session, name), Pointwise(DoubleNear(1e-12), Wanted(prefix + name))) << prefix << name;
    }
    std::set<std::string> slots;
    for (const std::string& state : session->states()) {
      if (const size_t at = state.find('@'); at != 0 && at != std::string::npos) slots.insert(state.substr(0, at));
    }
    if (std::string(prefix) == "adamw/") {
      const std::vector<std::string> trained = NamesBehind(prefix);
      EXPECT_EQ(slots, std::set<std::string>(trained.begin(), trained.end())) << "only adapters and the head";
    }
  }
}

TEST_P(Splits, GroupsOfParametersAreThoseOfTorch) {
  api::Result<api::Session> session = Start({{"optimizer", "adamw,weight_decay=0.1"},
                                             {"learning-rate", "0.01"},
                                             {"rate-scale", "q.*=0.1,head.*=5"},
                                             {"no-decay", "*.bias,norm.*"}},
                                            split());
  ASSERT_TRUE(session.ok()) << session.error().message;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->Train(Batch()).ok());
  const std::vector<std::string> names = NamesBehind("groups/");
  ASSERT_EQ(names.size(), 7u);
  for (const std::string& name : names) {
    EXPECT_THAT(Read(*session, name), Pointwise(DoubleNear(1e-12), Wanted("groups/" + name))) << name;
  }
}

// By flags alone: the first step is the model's own, since B is zero, and A is as PEFT begins it.
TEST(Adapters, BeginWithoutEffect) {
  api::Result<api::Session> adapted = Start({{"lora-rank", "3"}, {"lora-alpha", "6"}, {"lora-train", "head.*"}});
  api::Result<api::Session> plain = Start({});
  ASSERT_TRUE(adapted.ok() && plain.ok());
  EXPECT_EQ(Doubles(adapted->Predict(Batch(false))->at(kLogits).bytes),
            Doubles(plain->Predict(Batch(false))->at(kLogits).bytes));
  EXPECT_THAT(Read(*adapted, "v.lora_B.weight"), ::testing::Each(0.0));
  const std::vector<double> a = Read(*adapted, "q.lora_A.weight");
  ASSERT_EQ(a.size(), 18u);
  const auto [least, most] = std::ranges::minmax(a);
  EXPECT_GT(most, 0.2);
  EXPECT_LT(least, -0.2);
  EXPECT_LE(std::max(most, -least), 0.408248290463863) << "1 / sqrt(6)";
  EXPECT_FALSE(adapted->Read("head.lora_A.weight").ok()) << "it is trained whole";
}

TEST(Adapters, MergeIntoTheWeightsThatPeftMerges) {
  const std::string file = Temporary("adapted.safetensors"), merged_file = Temporary("merged.safetensors");
  api::Result<api::Session> session = Start({{"load-adapter", kPeft}, {"learning-rate", "0.1"}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->Train(Batch()).ok());
  ASSERT_FALSE(session->Save(file).has_value());
  ASSERT_OK_AND_ASSIGN(const ImportedModel imported, ImportModel(kNet, Ops()));
  ASSERT_OK_AND_ASSIGN(const Model adapted,
                       WithAdapters(imported.model, {2, 3, 0, {"q.weight", "v.weight"}, {"head.*"}}, Ops()));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile trained, LoadSafetensors(file));
  EXPECT_TRUE(HasAdapters(trained));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile merged, MergeAdapters(adapted.graph, trained, nullptr));
  EXPECT_FALSE(HasAdapters(merged));
  const std::vector<std::string> names = NamesBehind("merged/");
  EXPECT_EQ(merged.tensors().size(), names.size());
  for (const std::string& name : names) {
    ASSERT_NE(merged.Find(name), nullptr) << name;
    EXPECT_THAT(Doubles(merged.Bytes(*merged.Find(name))), Pointwise(DoubleNear(1e-12), Wanted("merged/" + name)));
  }
  // A model without adapters predicts by them what the adapted one does.
  ASSERT_OK(SaveMerged(merged, merged_file));
  api::Result<api::Session> plain = Start({});
  ASSERT_FALSE(plain->LoadWeights(merged_file).has_value());
  EXPECT_THAT(Doubles(plain->Predict(Batch(false))->at(kLogits).bytes),
              Pointwise(DoubleNear(1e-12), Doubles(session->Predict(Batch(false))->at(kLogits).bytes)));
  // A wrong rank is noticed; so is a file without adapters.
  ASSERT_OK_AND_ASSIGN(const Model other, WithAdapters(imported.model, {3, 3, 0, {}, {}}, Ops()));
  EXPECT_THAT(std::string(MergeAdapters(other.graph, trained, nullptr).status().message()), HasSubstr("lora_A.weight"));
  EXPECT_THAT(std::string(MergeAdapters(adapted.graph, merged, nullptr).status().message()),
              HasSubstr("has no tensor \"q.lora_A.weight\""));
}

TEST(Adapters, GoToAFolderAndBack) {
  const std::string folder = Temporary("adapter");
  std::filesystem::remove_all(folder);
  api::Result<api::Session> session = Start({{"lora-rank", "2"},
                                             {"lora-alpha", "5"},
                                             {"lora", "q.weight,v.weight"},
                                             {"lora-train", "head.*,q.bias"},
                                             {"mock-data", "true"},
                                             {"steps", "3"},
                                             {"save-adapter", folder}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_TRUE(session->Fit({}).ok());
  ASSERT_OK_AND_ASSIGN(const AdapterFolder saved, AdapterFolder::Read(folder));
  EXPECT_EQ(saved.rank(), 2);
  EXPECT_EQ(saved.alpha(), 5);
  EXPECT_EQ(saved.Modules(), (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(saved.tensors().size(), 7u);
  EXPECT_EQ(saved.tensors().at("q.bias"), "base_model.model.q.base_layer.bias");
  EXPECT_EQ(saved.tensors().at("head.bias"), "base_model.model.head.bias");
  api::Result<api::Session> loaded = Start({{"load-adapter", folder}});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (const auto& [name, stored] : saved.tensors()) EXPECT_EQ(Read(*loaded, name), Read(*session, name)) << name;
}

// Numbers of 16 bits are taken as what they are.
TEST(Adapters, OfHalfPrecisionAreTaken) {
  api::Result<api::Session> session = Start({{"load-adapter", "tests/importer/adapters/half"}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile half, LoadSafetensors("tests/importer/adapters/half.safetensors"));
  EXPECT_THAT(Doubles(session->Predict(Batch(false))->at(kLogits).bytes),
              Pointwise(DoubleNear(1e-13), Doubles(half.Bytes(*half.Find("logits")))));
}

// The folder of adapters with another line in its settings.
std::string FolderWith(const std::string& from, const std::string& to) {
  const std::string folder = Temporary("changed");
  std::filesystem::remove_all(folder);
  std::filesystem::copy(kPeft, folder);
  std::ifstream file(std::string(kPeft) + "/adapter_config.json");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const std::string path = folder + "/adapter_config.json";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::ofstream(path) << text;
  return folder;
}

// Of so small a factor the loss is linear in what adapters add: its mean under dropout is the loss without.
TEST(Adapters, DropoutKeepsTheMean) {
  constexpr int kSteps = 2400;
  const std::string small = "\"lora_alpha\": 0.0003", none = "\"lora_alpha\": 0";
  const auto start = [&](const std::string& alpha, const std::string& dropout) {
    Settings settings{
        {"load-adapter", FolderWith("\"lora_alpha\": 3", alpha)}, {"optimizer", "sgd"}, {"learning-rate", "1e-30"}};
    if (!dropout.empty()) settings["lora-dropout"] = dropout;
    return Start(settings);
  };
  api::Result<api::Session> without = start(small, ""), nothing = start(none, ""), dropped = start(small, "0.5");
  ASSERT_TRUE(without.ok() && nothing.ok() && dropped.ok()) << dropped.error().message;
  EXPECT_EQ(Doubles(dropped->Predict(Batch(false))->at(kLogits).bytes),
            Doubles(without->Predict(Batch(false))->at(kLogits).bytes))
      << "training alone drops";
  const double base = nothing->Train(Batch())->loss, whole = without->Train(Batch())->loss - base;
  double sum = 0, squares = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double added = dropped->Train(Batch())->loss - base;
    sum += added;
    squares += added * added;
  }
  const double mean = sum / kSteps, deviation = std::sqrt(squares / kSteps - mean * mean);
  const double error = deviation / std::sqrt(kSteps);
  EXPECT_GT(deviation, std::abs(whole) / 100) << "steps drop different elements";
  EXPECT_LT(std::abs(mean - whole), 5 * error);
  EXPECT_GT(std::abs(whole) / 2, 8 * error) << "so that twice or half of it would show";
}

TEST(Adapters, AreRefusedWhereTheyDoNotFit) {
  EXPECT_THAT(Refusal({{"lora-rank", "2"}, {"lora", "k.*"}}), HasSubstr("setting lora: pattern 'k.*' matches none"));
  EXPECT_THAT(Refusal({{"lora-rank", "4"}}), HasSubstr("the rank is 4, and 'head.weight' is [3,5]; expected 1 to 3"));
  EXPECT_THAT(Refusal({{"lora-rank", "2"}, {"lora", "norm.*"}}), HasSubstr("is the weight of a linear layer"));
  EXPECT_THAT(Refusal({{"lora-rank", "2"}, {"lora-train", "heat.*"}}), HasSubstr("pattern 'heat.*' matches none"));
  EXPECT_THAT(Refusal({{"lora-rank", "0"}}), HasSubstr("lora-rank"));
  EXPECT_THAT(Refusal({{"lora-alpha", "8"}}), HasSubstr("setting lora-alpha needs lora-rank"));
  EXPECT_THAT(Refusal({{"save-adapter", Temporary("none")}}), HasSubstr("needs lora-rank or load-adapter"));
  EXPECT_THAT(Refusal({{"lora-rank", "2"}, {"freeze", "q.*"}}), HasSubstr("lora-rank"));
  EXPECT_THAT(Refusal({{"load-adapter", "/nowhere"}}), HasSubstr("/nowhere: is no folder"));

  const auto refusal = [](const absl::StatusOr<Model>& model, const std::vector<std::string>& weights) {
    const auto adapted = WithAdapters(*model, {2, 2, 0, weights, {}}, Ops());
    return std::string(adapted.status().message());
  };
  const auto images = LoadModel("tools/models/examples/lenet5.pbtxt", Ops());
  ASSERT_OK(images.status());
  EXPECT_THAT(refusal(images, {"conv2/*"}), HasSubstr("conv2d"));
  const auto words = ReadModelFile("tests/importer/models/language.pt2", Ops());
  ASSERT_OK(words.status());
  EXPECT_THAT(refusal(words, {"*"}), HasSubstr("embedding"));
  // Adapters of another model.
  const auto other = api::Model::FromFile("tests/importer/models/transformer.pt2");
  EXPECT_THAT(api::Session::Start(*other, {}, {.settings = {{"load-adapter", kPeft}}}).error().message,
              HasSubstr("has adapters of 'q', and tests/importer/models/transformer.pt2 has no such module"));
}

std::string ConfigWith(const std::string& from, const std::string& to) {
  return Refusal({{"load-adapter", FolderWith(from, to)}});
}

TEST(Adapters, OfOtherKindsAreRefused) {
  EXPECT_THAT(ConfigWith("\"r\": 2", "\"r\": 3"), HasSubstr("found [2,6], needed is [3,6]"));
  EXPECT_THAT(ConfigWith("\"r\": 2", "\"r\": 2.5"), HasSubstr("r is no rank"));
  EXPECT_THAT(ConfigWith("\"use_dora\": false", "\"use_dora\": true"), HasSubstr("use_dora is true; expected none"));
  EXPECT_THAT(ConfigWith("\"LORA\"", "\"IA3\""), HasSubstr("peft_type is \"IA3\"; expected \"LORA\""));
  EXPECT_THAT(ConfigWith("\"rank_pattern\": {}", "\"rank_pattern\": {\"q\": 4}"), HasSubstr("rank_pattern is set"));
  EXPECT_THAT(ConfigWith("{", ""), HasSubstr("found no JSON object"));
  EXPECT_EQ(ConfigWith("\"lora_alpha\": 3", "\"lora_alpha\": 4"), "");
}

}  // namespace
}  // namespace partita
