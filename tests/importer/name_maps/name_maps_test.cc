// Weights of torchvision, timm and transformers under the names of the shipped models, and back; make.py wrote their
// names, their sizes and what small models compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "graph/proto_io/proto_io.h"
#include "importer/import_model.h"
#include "importer/merged_adapters.h"
#include "importer/module_names.h"
#include "importer/name_maps/map_texts.h"
#include "importer/name_maps/mapped_weights.h"
#include "importer/name_maps/name_map.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "partita/partita.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/convnext.h"
#include "tools/models/models.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/gpt2.h"
#include "tools/models/transformers/swin.h"
#include "tools/models/transformers/t5.h"
#include "tools/models/transformers/vit.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr char kFolder[] = "tests/importer/name_maps/";

std::string Temporary(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::vector<float> Floats(const SafetensorsFile& file, const std::string& name) {
  const std::span<const std::byte> bytes = file.Bytes(*file.Find(name));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

SafetensorsFile Stored(const std::string& name) { return *LoadSafetensors(kFolder + name + ".safetensors"); }

absl::StatusOr<Model> SmallGpt2(int64_t words = 20) {
  return MakeGpt2({.batch = 2, .length = 6, .positions = 6, .words = words, .width = 8, .heads = 2, .layers = 2},
                  Ops());
}

absl::StatusOr<Model> SmallVit(int64_t classes = 5) {
  return MakeVit({.batch = 2, .image_size = 8, .patch = 4, .classes = classes, .width = 8, .heads = 2, .layers = 2},
                 Ops());
}

absl::StatusOr<Model> FullModel(const std::string& package, const std::string& name) {
  if (name == "gpt2") return MakeGpt2({.batch = 2}, Ops());
  if (name == "bert-base") return MakeBert({.batch = 2}, Ops());
  if (name == "vit-b-16") return MakeVit({.batch = 2}, Ops());
  if (name == "swin-t") return MakeSwin({.batch = 2}, Ops());
  if (name == "t5-small") return MakeT5({.batch = 2}, Ops());
  if (name == "convnext-tiny") return MakeConvNext({.batch = 2}, Ops());
  ModelOptions options{.batch = 2};
  options.auxiliary_head = name == "inception-v3" && package == "torchvision";
  return MakeModel(name, options, Ops());
}

// Sizes by name, as make.py listed them.
std::map<std::string, std::vector<int64_t>> Listed(const std::string& map) {
  std::ifstream file(kFolder + std::string("tensors/") + map + ".txt");
  std::map<std::string, std::vector<int64_t>> tensors;
  for (std::string name, sizes; file >> name >> sizes;) {
    std::istringstream words(sizes);
    for (std::string size; std::getline(words, size, ',');) tensors[name].push_back(std::stoll(size));
  }
  return tensors;
}

// Of numbers that the graph itself says.
bool IsTable(const Graph& graph, const State& state) {
  return graph.node(graph.value(state.value).producer).attributes.String("initializer") == "values";
}

int64_t ElementsIn(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

TEST(NameMaps, NameEveryTensorOfThePackagesModels) {
  for (const auto& [map, text] : MapTexts()) {
    SCOPED_TRACE(map);
    const size_t slash = map.find('/');
    const std::string package = map.substr(0, slash), name = map.substr(slash + 1);
    ASSERT_OK_AND_ASSIGN(const Model model, FullModel(package, name));
    EXPECT_EQ(model.name, name) << "by which --map=" << package << " finds it";
    ASSERT_OK_AND_ASSIGN(const NameMap names, FindNameMap(package, model.name));
    const std::map<std::string, std::vector<int64_t>> listed = Listed(map);
    ASSERT_FALSE(listed.empty());
    std::map<std::string, int64_t> elements;  // that states have of a tensor
    for (const State& state : model.graph.states()) {
      const std::string& own = model.graph.value(state.value).name;
      if (IsTable(model.graph, state)) continue;
      ASSERT_OK_AND_ASSIGN(const auto foreign, names.Find(own, [&](const std::string& other) {
        return model.graph.Find(other) != kNoValue;
      }));
      ASSERT_TRUE(foreign.has_value()) << own;
      const Shape& shape = model.graph.type(state.value).shape;
      ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> theirs, foreign->order.TensorShape(shape));
      ASSERT_TRUE(listed.contains(foreign->name)) << own << " is " << foreign->name;
      EXPECT_EQ(theirs, listed.at(foreign->name)) << own << " is " << foreign->name;
      elements[foreign->name] += Elements(shape);
      for (const std::string& copy : foreign->copies) elements[copy] += Elements(shape);
    }
    for (const auto& [tensor, shape] : listed) EXPECT_EQ(elements[tensor], ElementsIn(shape)) << tensor;
    EXPECT_EQ(elements.size(), listed.size());
  }
}

// The logits of the package's model, by its weights.
void ExpectLogits(const Model& model, const std::string& map, const std::string& weights, const std::string& value,
                  const std::map<std::string, std::pair<std::string, api::Type>>& inputs, const std::string& logits) {
  ASSERT_OK_AND_ASSIGN(const NameMap names, FindNameMap(map, ""));
  const SafetensorsFile file = Stored(weights);
  ASSERT_OK_AND_ASSIGN(const MappedWeights taken, TakeWeights(file, model.graph, names, {}));
  EXPECT_TRUE(taken.missing.empty() && taken.kept.empty() && taken.left.empty());
  const std::string graph = Temporary(weights + ".pbtxt"), ours = Temporary(weights + ".ours.safetensors");
  ASSERT_OK(SaveModel(model, graph));
  ASSERT_OK(SaveMerged(taken.states, ours));
  api::Result<api::Session> session = api::Session::Start(*api::Model::FromFile(graph), {}, {.predict = {value}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto loaded = session->LoadWeights(ours);
  ASSERT_FALSE(loaded.has_value()) << loaded->message;
  const SafetensorsFile expected = Stored("expected");
  api::Fields fields;
  for (const auto& [field, from] : inputs) {
    const StoredTensor& tensor = *expected.Find(from.first);
    fields[field] = {from.second, tensor.shape, expected.Bytes(tensor).data()};
  }
  const auto found = session->Predict(fields);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const std::vector<std::byte>& bytes = found->at(value).bytes;
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_THAT(values, Pointwise(FloatNear(2e-5F), Floats(expected, logits)));
  // Written back they are the package's, each under its name.
  const std::string back = Temporary(weights + ".back.safetensors");
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile own, LoadSafetensors(ours));
  EXPECT_TRUE(HasNamesOf(own, model.graph));
  EXPECT_FALSE(HasNamesOf(file, model.graph));
  ASSERT_OK(SaveUnderMap(own, model.graph, names, back));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile written, LoadSafetensors(back));
  for (const StoredTensor& tensor : file.tensors()) {
    ASSERT_NE(written.Find(tensor.name), nullptr) << tensor.name;
    EXPECT_EQ(written.Find(tensor.name)->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(Floats(written, tensor.name), Floats(file, tensor.name)) << tensor.name;
  }
  if (map == "huggingface/gpt2") {  // save_pretrained omits what is tied; load_state_dict wants it
    EXPECT_EQ(written.tensors().size(), file.tensors().size() + 1);
    EXPECT_EQ(Floats(written, "lm_head.weight"), Floats(written, "transformer.wte.weight"));
  } else {
    EXPECT_EQ(written.tensors().size(), file.tensors().size());
  }
}

TEST(NameMaps, Gpt2OfTransformersPredictsTheSame) {
  ASSERT_OK_AND_ASSIGN(const Model model, SmallGpt2());
  ExpectLogits(model, "huggingface/gpt2", "gpt2", "logits", {{"ids", {"ids", api::Type::kI32}}}, "gpt2");
}

TEST(NameMaps, VisionTransformerOfTorchvisionPredictsTheSame) {
  ASSERT_OK_AND_ASSIGN(const Model model, SmallVit());
  ExpectLogits(model, "torchvision/vit-b-16", "vit", "logits/bias", {{"images", {"images", api::Type::kF32}}}, "vit");
}

// float16 and bfloat16 are taken as the numbers that they are, into f32 and f64.
TEST(NameMaps, HalfPrecisionIsTaken) {
  ASSERT_OK_AND_ASSIGN(const Model model, SmallVit());
  ASSERT_OK_AND_ASSIGN(const NameMap names, FindNameMap("torchvision/vit-b-16", ""));
  const SafetensorsFile whole = Stored("vit"), half = Stored("vit.half");
  ASSERT_OK_AND_ASSIGN(const MappedWeights of_whole, TakeWeights(whole, model.graph, names, {}));
  ASSERT_OK_AND_ASSIGN(const MappedWeights of_half, TakeWeights(half, model.graph, names, {}));
  ASSERT_OK_AND_ASSIGN(const MappedWeights wide, TakeWeights(half, model.graph, names, {.floats = DType::kF64}));
  for (const StoredTensor& tensor : of_whole.states.tensors()) {
    const std::vector<float> wanted = Floats(of_whole.states, tensor.name), found = Floats(of_half.states, tensor.name);
    ASSERT_EQ(wanted.size(), found.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], std::abs(wanted[i]) / 256) << tensor.name;
      double value = 0;
      std::memcpy(&value, wide.states.Bytes(*wide.states.Find(tensor.name)).data() + i * sizeof(double),
                  sizeof(double));
      EXPECT_EQ(static_cast<float>(value), found[i]) << tensor.name;
    }
  }
}

// A new head, and a file that has more: only what the patterns name may be left.
TEST(NameMaps, PartsAreTakenWhereTheyAreAskedFor) {
  ASSERT_OK_AND_ASSIGN(const Model model, SmallVit(7));
  ASSERT_OK_AND_ASSIGN(const NameMap names, FindNameMap("torchvision/vit-b-16", ""));
  const SafetensorsFile file = Stored("vit");
  const auto whole = TakeWeights(file, model.graph, names, {});
  EXPECT_THAT(std::string(whole.status().message()),
              HasSubstr("2 of 40 states do not fit: logits/bias/values (\"heads.head.bias\" is [5], needed is [7]), "
                        "logits/weights (\"heads.head.weight\" is [5,8], needed is [7,8]); "
                        "--load-partial=PATTERN,... takes what fits"));
  EXPECT_THAT(std::string(TakeWeights(file, model.graph, names, {.partial = {"norm/*"}}).status().message()),
              HasSubstr("2 of 40 states do not fit"));
  ASSERT_OK_AND_ASSIGN(const MappedWeights headless, TakeWeights(file, model.graph, names, {.partial = {"logits/*"}}));
  EXPECT_THAT(headless.missing, ElementsAre("logits/bias/values", "logits/weights"));
  EXPECT_EQ(headless.kept.size(), 2u);
  EXPECT_EQ(headless.states.tensors().size(), 38u);
  // Of another model everything is wrong.
  ASSERT_OK_AND_ASSIGN(const Model other, SmallGpt2());
  const auto none = TakeWeights(file, other.graph, names, {.partial = {"block*"}});
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("words/table (the map does not name it)"));
  // Without a map names are the graph's.
  const auto own = TakeWeights(file, model.graph, {}, {});
  EXPECT_THAT(std::string(own.status().message()), HasSubstr("tensors are none of the graph's: "));
  ASSERT_OK_AND_ASSIGN(const MappedWeights nothing, TakeWeights(file, model.graph, {}, {.partial = {"*"}}));
  EXPECT_EQ(nothing.taken, 0);
  EXPECT_EQ(nothing.left.size(), file.tensors().size());
  EXPECT_EQ(nothing.missing.size(), 40u);
}

TEST(NameMaps, FilesWithoutThePrefixAreTaken) {
  ASSERT_OK_AND_ASSIGN(const Model model, SmallGpt2());
  ASSERT_OK_AND_ASSIGN(const NameMap names, FindNameMap("huggingface", "gpt2"));
  const SafetensorsFile file = Stored("gpt2");
  std::vector<NamedTensor> bare;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string prefix = "transformer.";
    const bool tied = tensor.name == "lm_head.weight";
    const std::string name = tied ? "wte.weight" : tensor.name.substr(prefix.size());
    bare.push_back({name, DType::kF32, tensor.shape, file.Bytes(tensor)});
  }
  const float mask = 0;
  bare.push_back({"h.0.attn.bias", DType::kF32, {1}, std::as_bytes(std::span(&mask, 1))});
  ASSERT_OK(SaveSafetensors(Temporary("bare.safetensors"), bare, {}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile loaded, LoadSafetensors(Temporary("bare.safetensors")));
  ASSERT_OK_AND_ASSIGN(const MappedWeights taken, TakeWeights(loaded, model.graph, names, {}));
  ASSERT_OK_AND_ASSIGN(const MappedWeights wanted, TakeWeights(file, model.graph, names, {}));
  EXPECT_EQ(taken.states.Digest(), wanted.states.Digest());
}

// What SaveForPyTorch writes for load_state_dict becomes the program's own weights again.
TEST(ModuleNames, AreThoseOfTheStateDict) {
  for (const char* const program : {"residual", "language", "transformer", "statistics"}) {
    SCOPED_TRACE(program);
    ASSERT_OK_AND_ASSIGN(const ImportedModel imported,
                         ImportModel(std::string("tests/importer/models/") + program + ".pt2", Ops()));
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile own, WeightsOf(imported));
    ASSERT_OK(SaveForPyTorch(imported, own, Temporary("state_dict.safetensors")));
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile state_dict, LoadSafetensors(Temporary("state_dict.safetensors")));
    const ModuleNames names = ModuleNamesOf(imported);
    ASSERT_OK_AND_ASSIGN(const MappedWeights taken,
                         TakeWeights(state_dict, imported.model.graph, names.map,
                                     {.own = names.own, .floats = DType::kF64, .rest = &own}));
    EXPECT_TRUE(taken.missing.empty());
    ASSERT_EQ(taken.states.tensors().size(), own.tensors().size());
    for (const StoredTensor& tensor : own.tensors()) {
      const StoredTensor* const found = taken.states.Find(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
      EXPECT_TRUE(std::ranges::equal(taken.states.Bytes(*found), own.Bytes(tensor))) << tensor.name;
    }
  }
}

std::string Refusal(const std::string& text) { return std::string(NameMap::Parse("own.map", text).status().message()); }

TEST(NameMaps, LinesThatMeanNothingAreNamed) {
  EXPECT_THAT(Refusal("# nothing\n"), HasSubstr("own.map: the map names no state"));
  EXPECT_THAT(Refusal("a b\n\nalone\n"), HasSubstr("own.map: line 3: found 'alone' alone"));
  EXPECT_THAT(Refusal("a{ b\n"), HasSubstr("'{' that does not close"));
  EXPECT_THAT(Refusal("a} b\n"), HasSubstr("'}' too many"));
  EXPECT_THAT(Refusal("a{} b\n"), HasSubstr("found '' in braces"));
  EXPECT_THAT(Refusal("a{i} b{i-x}\n"), HasSubstr("adds no number"));
  EXPECT_THAT(Refusal("names x a\n"), HasSubstr("found 'a'; expected WORD=WORD"));
  EXPECT_THAT(Refusal("a b oihw\n"), HasSubstr("order 'oihw' has no '>'"));
  EXPECT_THAT(Refusal("a b oi>ih\n"), HasSubstr("expected each letter once on either side"));
  EXPECT_THAT(Refusal("a b oo>oo\n"), HasSubstr("expected each letter once on either side"));
  EXPECT_THAT(Refusal("a b o(i>io\n"), HasSubstr("parenthesis that does not close"));
  EXPECT_THAT(Refusal("a b oi>io part=o:3/3\n"), HasSubstr("found 'part=o:3/3'"));
  EXPECT_THAT(Refusal("a b oi>io part=x:0/3\n"), HasSubstr("found 'part=x:0/3'"));
  EXPECT_THAT(Refusal("a b oi>io h=7\n"), HasSubstr("found 'h=7'"));
  EXPECT_THAT(std::string(FindNameMap("torchvison", "resnet-50").status().message()),
              HasSubstr("no map is shipped under this name for graph 'resnet-50'"));
}

TEST(NameMaps, NamesAreMadeOfNumbersAndTables) {
  ASSERT_OK_AND_ASSIGN(const NameMap map, NameMap::Parse("own.map",
                                                         "names block a=0 b=1\n"
                                                         "names kind gain=weight\n"
                                                         "s{i}/{block}/{kind}  l{i-1}.{block}.{kind}\n"
                                                         "copy s{i}/a/{kind}   other.{i+2}\n"
                                                         "bias/{n}  first  if pool\n"
                                                         "bias/{n}  second.{n}\n"));
  const auto find = [&](const std::string& state, bool pool = false) {
    return *map.Find(state, [pool](const std::string& name) { return pool && name == "pool"; });
  };
  EXPECT_EQ(find("s12/b/gain")->name, "l11.1.weight");
  EXPECT_TRUE(find("s12/b/gain")->copies.empty());
  EXPECT_THAT(find("s3/a/gain")->copies, ElementsAre("other.5"));
  EXPECT_FALSE(find("s3/c/gain").has_value());
  EXPECT_FALSE(find("s/a/gain").has_value());
  EXPECT_FALSE(find("s3/a/gains").has_value());
  EXPECT_EQ(find("bias/7")->name, "second.7");
  EXPECT_EQ(find("bias/7", true)->name, "first");
  EXPECT_THAT(std::string(map.Find("s0/a/gain", [](const std::string&) { return false; }).status().message()),
              HasSubstr("{i} is '0', to which -1 cannot be added"));
}

std::vector<int64_t> Places(std::vector<std::string> words, const Shape& state) {
  return *Rearrangement::Parse(words)->Places(state);
}

TEST(Rearrangement, PlacesAreThoseOfTheFile) {
  EXPECT_THAT(Places({}, {2, 2}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Places({"oi>io"}, {2, 3}), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(Places({"oihw>ohwi"}, {1, 1, 2, 2}), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(Places({"o(chw)>(hwc)o", "h=1", "w=2"}, {4, 1}), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(Places({"oi>io", "part=o:1/2"}, {2, 2}), ElementsAre(4, 6, 5, 7));
  EXPECT_THAT(Places({"io>io", "part=o:1/2"}, {2, 2}), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(Places({"1td>td"}, {2, 2}), ElementsAre(0, 1, 2, 3));
  const auto shape = [](std::vector<std::string> words, const Shape& state) {
    return *Rearrangement::Parse(words)->TensorShape(state);
  };
  EXPECT_THAT(shape({"o(chw)>(hwc)o", "h=7", "w=7"}, {98, 5}), ElementsAre(5, 98));
  EXPECT_THAT(shape({"oihw>(hwi)o", "h=7", "w=7"}, {98, 5}), ElementsAre(5, 2, 7, 7));
  EXPECT_THAT(shape({"oi>io", "part=o:1/3"}, {4, 5}), ElementsAre(15, 4));
  EXPECT_THAT(shape({"oi11>io"}, {4, 5}), ElementsAre(5, 4, 1, 1));
  EXPECT_THAT(std::string(Rearrangement::Parse(std::vector<std::string>{"oi>io"})->Places({2}).status().message()),
              HasSubstr("the state is [2]; expected 2 dimensions"));
  EXPECT_FALSE(Rearrangement::Parse(std::vector<std::string>{"o(chw)>(hwc)o", "h=7"})->TensorShape({98, 5}).ok());
  EXPECT_FALSE(
      Rearrangement::Parse(std::vector<std::string>{"o(chw)>(hwc)o", "h=7", "w=7"})->TensorShape({97, 5}).ok());
}

// A state without a tensor, a tensor that the graph has a part of, and one that two states are.
TEST(NameMaps, FilesThatNoModelWouldTakeAreNotWritten) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeMlp({.batch = 2, .channel_limit = 2}, Ops()));
  std::vector<NamedTensor> tensors;
  const std::vector<std::byte> zeros(1 << 16);
  for (const State& state : model.graph.states()) {
    const Shape& shape = model.graph.type(state.value).shape;
    tensors.push_back({model.graph.value(state.value).name,
                       DType::kF32,
                       {shape.begin(), shape.end()},
                       std::span(zeros).first(static_cast<size_t>(Elements(shape)) * sizeof(float))});
  }
  ASSERT_OK(SaveSafetensors(Temporary("mlp.safetensors"), tensors, {}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, LoadSafetensors(Temporary("mlp.safetensors")));
  const auto refusal = [&](const std::string& map) {
    const auto parsed = NameMap::Parse("own.map", map);
    return std::string(SaveUnderMap(file, model.graph, *parsed, Temporary("refused.safetensors")).message());
  };
  const std::string weights = "dense{n}/matmul/weights w{n}\nclassifier/matmul/weights w\nclassifier/bias/values b\n";
  EXPECT_EQ(refusal(weights + "dense{n}/bias/values b{n}\n"), "");
  EXPECT_THAT(refusal(weights), HasSubstr("state \"dense1/bias/values\": the map does not name it"));
  EXPECT_THAT(refusal(weights + "dense1/bias/values both o>o part=o:0/2\ndense2/bias/values b2\n"),
              HasSubstr("tensor \"both\": the graph has 2 of its 4 elements"));
  EXPECT_THAT(refusal(weights + "dense{n}/bias/values both o>o part=o:0/2\n"),
              HasSubstr("another state is the same part of tensor \"both\""));
}

}  // namespace
}  // namespace partita
