#include "tests/equivalence/cases.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/ir/op_definition.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kPixels = 12;
constexpr int64_t kChannels = 8;
constexpr int64_t kClasses = 10;

// Four micro-batches of three samples: on one rank, on two replicas that have two and one of them, over two stages in
// each order, and over stages of one and of two ranks.
constexpr int64_t kMicroBatches = 4;
constexpr int64_t kMicroBatchSamples = 3;
constexpr const char* kPipelines[] = {"micro", "micro_data", "gpipe", "1f1b", "1f1b_overlap", "uneven_stages"};

bool IsPipeline(const Case& one) {
  return std::find(std::begin(kPipelines), std::end(kPipelines), one.strategy) != std::end(kPipelines);
}

template <typename T>
void Put(HostTensor& tensor, int64_t index, T value) {
  std::memcpy(tensor.bytes.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Domain parallelism, alone and next to other splits: rows and columns of the images; all else follows. "h8" has more
// ranks than samples, and blocks without rows. "c2i2" cuts every weight in both of its dimensions.
const std::map<std::string, Mesh>& SplitMeshes() {
  static const auto& meshes = *new std::map<std::string, Mesh>{
      {"h2", {{{"height", 2}}}},
      {"h3", {{{"height", 3}}}},
      {"w2", {{{"width", 2}}}},
      {"h8", {{{"height", 8}}}},
      {"h2w2", {{{"height", 2}, {"width", 2}}}},
      {"d2h2", {{{"data", 2}, {"height", 2}}}},
      {"h2c2", {{{"height", 2}, {"model", 2}}}},
      {"c2i2", {{{"model", 2}, {"input", 2}}}},
  };
  return meshes;
}

Strategy SplitStrategy(const Mesh& mesh, const Graph& forward) {
  Strategy strategy;
  strategy.mesh = mesh;
  for (const MeshAxis& axis : mesh.axes) {
    const auto split = [&](const std::string& pattern, const char* name) {
      strategy.ops.push_back({pattern, {{axis.name, AxisConfig{name, 0, {}}}}, {}});
    };
    if (axis.name == "height" || axis.name == "width") split("images", axis.name.c_str());
    if (axis.name == "data") split("*", "samples");
    if (axis.name != "model" && axis.name != "input") continue;
    for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
      const std::string& op = forward.node(id).op->name;
      if (op != "conv2d" && op != "matmul") continue;
      split(forward.name(id), axis.name == "model" ? "output_channels" : "input_channels");
    }
  }
  return strategy;
}

// Several meshes: images and convolutions on one, matrix products, and all that follows them, on another. In "islands"
// the two share no rank, and one rank holds nothing. Of those with a mode each rank of the second mesh wants all, or
// half, of what the ranks of the first one make: "apart" without a common rank, "across" with two.
struct TwoMeshes {
  std::vector<Mesh> meshes;
  std::map<std::string, AxisConfig> images, convolutions, products;
  std::optional<ExchangeMode> exchanges = {};
};

std::map<std::string, TwoMeshes> MakeSeveralMeshes() {
  const auto by = [](const char* split) { return AxisConfig{split, 0, {}}; };
  std::map<std::string, TwoMeshes> meshes{
      {"rows4_grid",
       {{{{{"rows", 4}}}, {{{"out", 2}, {"in", 2}}, "grid"}},
        {{"rows", by("height")}},
        {{"rows", by("height")}},
        {{"out", by("output_channels")}, {"in", by("input_channels")}}}},
      {"all3_pair",
       {{{{{"rows", 3}}}, {{{"out", 2}}, "pair", {0, 1}}},
        {{"rows", by("height")}},
        {{"rows", by("height")}},
        {{"out", by("output_channels")}}}},
      {"2x3_3x2",
       {{{{{"data", 2}, {"rows", 3}}}, {{{"outer", 3}, {"inner", 2}}, "turned"}},
        {{"data", by("samples")}, {"rows", by("height")}},
        {{"data", by("samples")}, {"rows", by("height")}},
        {{"outer", by("samples")}, {"inner", by("output_channels")}}}},
      {"islands",
       {{{{{"all", 5}}}, {{{"rows", 2}}, "left", {4, 1}}, {{{"out", 2}}, "right", {0, 3}}},
        {{"rows", by("width")}},
        {{"rows", by("height")}},
        {{"out", by("input_channels")}}}},
  };
  for (const ExchangeMode mode : {ExchangeMode::kSlices, ExchangeMode::kChain}) {
    meshes[fmt::format("apart_{}", Name(mode))] = {
        {{{{"all", 6}}}, {{{"rows", 2}}, "left", {4, 1}}, {{{"out", 3}}, "right", {0, 2, 3}}},
        {{"rows", by("samples")}},
        {{"rows", by("height")}},
        {{"out", by("output_channels")}},
        mode};
    meshes[fmt::format("across_{}", Name(mode))] = {
        {{{{"all", 5}}}, {{{"rows", 3}}, "left", {0, 1, 2}}, {{{"in", 2}, {"out", 2}}, "right", {2, 3, 4, 1}}},
        {{"rows", by("height")}},
        {{"rows", by("height")}},
        {{"in", by("input_channels")}, {"out", by("output_channels")}},
        mode};
  }
  return meshes;
}

const std::map<std::string, TwoMeshes>& SeveralMeshes() {
  static const auto& meshes = *new std::map<std::string, TwoMeshes>(MakeSeveralMeshes());
  return meshes;
}

Strategy MeshesStrategy(const TwoMeshes& said, const Graph& forward) {
  Strategy strategy;
  strategy.mesh = said.meshes[0];
  strategy.further_meshes.assign(said.meshes.begin() + 1, said.meshes.end());
  strategy.exchanges = said.exchanges;
  strategy.ops.push_back({"images", said.images, {}});
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const std::string& op = forward.node(id).op->name;
    if (op == "conv2d") strategy.ops.push_back({forward.name(id), said.convolutions, {}});
    if (op == "matmul") strategy.ops.push_back({forward.name(id), said.products, {}});
  }
  return strategy;
}

// The first half of the nodes on rank 0, the others on ranks 1 and 2.
Strategy UnevenStages(const Graph& forward) {
  Strategy strategy;
  strategy.mesh.axes = {{"all", 3}};
  strategy.further_meshes = {{{{"alone", 1}}, "head", {0}}, {{{"channels", 2}}, "tail", {1, 2}}};
  strategy.pipeline.stage_meshes = {"head", "tail"};
  const auto nodes = static_cast<NodeId>(forward.nodes().size());
  for (NodeId id = 0; id < nodes; ++id) {
    const std::string& op = forward.node(id).op->name;
    if (op == "parameter" || op == "state" || op == "input") continue;
    const bool head = id < nodes / 2;
    const char* const split = !head && (op == "conv2d" || op == "matmul") ? "output_channels" : "replicate";
    strategy.ops.push_back({forward.name(id), {{head ? "alone" : "channels", {split, 0, {}}}}, {}});
  }
  return strategy;
}

std::string ExampleFile(const Case& one) {
  std::string model = one.model;
  std::replace(model.begin(), model.end(), '-', '_');
  const bool inception_placement = one.model == "mini-inception" && one.strategy == "placement";
  return "tools/models/examples/" + model + "_" + (inception_placement ? "2x2" : one.strategy) + ".pbtxt";
}

// The first half of the nodes on stage 0, the others on stage 1, but states: those follow.
// The loss split by classes: alone, more ranks than classes, over two axes beside the samples, and as the classifier's
// output channels already lie.
const std::map<std::string, Mesh>& ClassMeshes() {
  static const auto& meshes = *new std::map<std::string, Mesh>{
      {"k3", {{{"classes", 3}}}},
      {"k12", {{{"classes", 12}}}},
      {"d2k2k3", {{{"data", 2}, {"classes", 2}, {"inner_classes", 3}}}},
      {"d2ck4", {{{"data", 2}, {"channels_and_classes", 4}}}},
  };
  return meshes;
}

Strategy ClassStrategy(const Mesh& mesh) {
  Strategy strategy;
  strategy.mesh = mesh;
  for (const MeshAxis& axis : mesh.axes) {
    const auto split = [&](const std::string& pattern, const char* name) {
      strategy.ops.push_back({pattern, {{axis.name, AxisConfig{name, 0, {}}}}, {}});
    };
    if (axis.name == "data") {
      split("*", "samples");
      continue;
    }
    split("loss", "classes");
    if (axis.name == "channels_and_classes") split("classifier/matmul", "output_channels");
  }
  return strategy;
}

// The first layer on one rank of six, the others by samples, the second also by channels: what the first layer makes
// goes to several ranks for each half of the samples.
constexpr const char* kExchanges[] = {"in_slices", "in_chain"};

Strategy ExchangeStrategy(const std::string& name) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}, {"model", 3}};
  for (const char* pattern : {"images", "flatten", "dense1*"}) {
    strategy.ops.push_back({pattern, {{"data", {"at", 1, {}}}, {"model", {"at", 1, {}}}}, {}});
  }
  strategy.ops.push_back({"dense2/matmul", {{"model", {"output_channels", 0, {}}}}, {}});
  strategy.ops.push_back({"*", {{"data", {"samples", 0, {}}}}, {}});
  strategy.exchanges = FindExchangeMode(name.substr(name.find('_') + 1));
  return strategy;
}

absl::StatusOr<Strategy> MakePipeline(const Case& one, const Model& model) {
  Strategy strategy;
  strategy.pipeline.micro_batches = kMicroBatches;
  if (one.strategy == "micro") return strategy;
  if (one.strategy == "micro_data") {
    ASSIGN_OR_RETURN(strategy, DataModelStrategy(model.graph, 2, 1));
    strategy.pipeline.micro_batches = kMicroBatches;
    return strategy;
  }
  if (one.strategy == "uneven_stages") {
    strategy = UnevenStages(model.graph);
    strategy.pipeline.micro_batches = kMicroBatches;
    return strategy;
  }
  strategy.mesh.axes = {{"stage", 2}};
  strategy.pipeline.stage_axis = "stage";
  strategy.pipeline.order = *FindPipelineOrder(one.strategy);
  const auto nodes = static_cast<NodeId>(model.graph.nodes().size());
  for (NodeId id = 0; id < nodes; ++id) {
    const std::string& op = model.graph.node(id).op->name;
    if (op == "parameter" || op == "state" || op == "input") continue;
    strategy.ops.push_back({model.graph.name(id), {{"stage", {"at", id < nodes / 2 ? 0 : 1, {}}}}, {}});
  }
  return strategy;
}

}  // namespace

std::string Case::Name() const {
  std::string name = model + "_" + strategy + (regularized ? "_regularized" : "_plain");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.Name(); }

int64_t BatchOf(const Case& one) { return IsPipeline(one) ? kMicroBatches * kMicroBatchSamples : kBatch; }

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* model : {"lenet5", "mlp", "mini-inception"}) {
    for (const char* strategy : kPipelines) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
    for (const char* strategy : {"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "3x1", "placement", "mixed"}) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
  }
  for (const char* model : {"lenet5", "mini-inception"}) {
    for (const auto& [strategy, mesh] : SplitMeshes()) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
  }
  for (const auto& [strategy, meshes] : SeveralMeshes()) {
    for (bool regularized : {false, true}) cases.push_back({"lenet5", strategy, regularized});
  }
  for (const char* strategy : {"rows4_grid", "islands"}) cases.push_back({"mini-inception", strategy, true});
  for (const char* strategy : {"islands", "apart_slices", "across_chain"}) {
    cases.push_back({"mlp", strategy, false});
  }
  cases.push_back({"mini-inception", "k3", true});  // smooths its labels
  for (const char* strategy : kExchanges) cases.push_back({"mlp", strategy, true});
  for (const char* model : {"lenet5", "mlp"}) {
    for (const auto& [strategy, mesh] : ClassMeshes()) {
      for (bool regularized : {false, true}) cases.push_back({model, strategy, regularized});
    }
  }
  return cases;
}

absl::StatusOr<Model> MakeSmallModel(const Case& one, double learning_rate) {
  ModelOptions options;
  options.batch = BatchOf(one);
  options.image_size = kPixels;
  options.channel_limit = kChannels;
  options.dropout = one.regularized;
  options.batch_norm = one.regularized;
  if (IsPipeline(one)) options.statistics_samples = kMicroBatchSamples;
  ASSIGN_OR_RETURN(Model model, MakeModel(one.model, options, Ops()));
  model.optimizer = {"sgd", {{"momentum", 0.9}, {"weight_decay", 5e-4}, {"nesterov", true}}, 1.0};
  model.learning_rate = LearningRate{};
  model.learning_rate.base = learning_rate;
  return model;
}

absl::StatusOr<Strategy> MakeStrategy(const Case& one, const Model& model) {
  if (IsPipeline(one)) return MakePipeline(one, model);
  const auto split = SplitMeshes().find(one.strategy);
  if (split != SplitMeshes().end()) return SplitStrategy(split->second, model.graph);
  const auto classes = ClassMeshes().find(one.strategy);
  if (classes != ClassMeshes().end()) return ClassStrategy(classes->second);
  const auto meshes = SeveralMeshes().find(one.strategy);
  if (meshes != SeveralMeshes().end()) return MeshesStrategy(meshes->second, model.graph);
  if (one.strategy.starts_with("in_")) return ExchangeStrategy(one.strategy);
  const size_t cross = one.strategy.find('x');
  if (cross != 1) return LoadStrategy(ExampleFile(one));
  return DataModelStrategy(model.graph, one.strategy[0] - '0', one.strategy[2] - '0');
}

void ShardUpdates(const Model& model, Strategy& strategy) {
  for (const State& state : model.graph.states()) {
    const Value& value = model.graph.value(state.value);
    if (model.graph.node(value.producer).op->role != Role::kParameter) continue;
    strategy.ops.insert(strategy.ops.begin(), {value.name, {}, {{"data", {"dimension0", 0, {}}}}});
  }
}

absl::StatusOr<Program> SerialProgram(const Model& model, const ProgramOptions& options) {
  return MakeProgram(model, Strategy{}, Ops(), options);
}

absl::StatusOr<Program> PlanOf(const Case& one, const Model& model, const ProgramOptions& options) {
  ASSIGN_OR_RETURN(const Strategy strategy, MakeStrategy(one, model));
  return MakeProgram(model, strategy, Ops(), options);
}

StepInputs MakeBatch(uint64_t seed, int step, DType floating, int64_t samples, int64_t channels) {
  const uint64_t key = PhiloxKey(seed, "images");
  StepInputs batch;
  batch.images = {floating, {samples, kPixels, kPixels, channels}, {}};
  const int64_t elements = Elements(batch.images.shape);
  batch.images.bytes.resize(static_cast<size_t>(elements * SizeOf(floating)));
  for (int64_t i = 0; i < elements; ++i) {
    const float pixel = 2 * Uniform(key, static_cast<uint64_t>(step), static_cast<uint64_t>(i)) - 1;
    floating == DType::kF32 ? Put(batch.images, i, pixel) : Put(batch.images, i, static_cast<double>(pixel));
  }
  batch.labels = {DType::kI32, {samples}, std::vector<char>(static_cast<size_t>(samples) * sizeof(int32_t))};
  const uint64_t label_key = PhiloxKey(seed, "labels");
  for (int64_t i = 0; i < samples; ++i) {
    const float label = Uniform(label_key, static_cast<uint64_t>(step), static_cast<uint64_t>(i)) * kClasses;
    Put(batch.labels, i, static_cast<int32_t>(label));
  }
  batch.weights = {floating, {samples}, std::vector<char>(static_cast<size_t>(samples * SizeOf(floating)))};
  for (int64_t i = 0; i < samples; ++i) {
    floating == DType::kF32 ? Put(batch.weights, i, 1.0f) : Put(batch.weights, i, 1.0);
  }
  return batch;
}

}  // namespace partita
