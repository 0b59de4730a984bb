#include "tools/models/models.h"

#include <utility>

#include "graph/ir/node_flops.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Maker = absl::StatusOr<Model> (*)(const ModelOptions&, const OpRegistry&);

constexpr std::pair<const char*, Maker> kModels[] = {
    {"lenet5", MakeLeNet5},
    {"mlp", MakeMlp},
    {"mini-inception", MakeMiniInception},
    {"inception-v3", MakeInceptionV3},
    {"resnet-50", MakeResNet50},
    {"alexnet", MakeAlexNet},
    {"alexnet-2012", MakeAlexNet2012},
    {"vgg-16", MakeVgg16},
    {"mobilenet-v3-large", MakeMobileNetV3Large},
    {"efficientnet-b0", MakeEfficientNetB0},
};

}  // namespace

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const auto& model : kModels) names.emplace_back(model.first);
  return names;
}

absl::StatusOr<Model> MakeModel(const std::string& name, const ModelOptions& options, const OpRegistry& registry) {
  for (const auto& [known, make] : kModels) {
    if (name == known) return make(options, registry);
  }
  return InvalidArgument("model {} is unknown{}", Quoted(name), Suggestion(name, ModelNames()));
}

double MultiplyAdds(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->role == Role::kConvolution || node.op->role == Role::kProduct) flops += FlopsOf(graph, node);
  }
  return flops / 2;
}

int64_t ParameterCount(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->role == Role::kParameter) count += Elements(graph.type(node.outputs[0]).shape);
  }
  return count;
}

}  // namespace partita
