// Models from files, from text, and from descriptions in C++.
#include <map>
#include <variant>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/proto_io/proto_io.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "partita/convert.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "runtime/base/status.h"

namespace partita::api {
namespace {

absl::StatusOr<std::vector<Field>> FieldsOf(const Graph& graph) {
  std::vector<Field> fields;
  for (const EntryInput& input : InputsOf(graph)) {
    const TensorType& type = graph.type(input.values[0]);
    ASSIGN_OR_RETURN(const Type element, TypeOf(type.dtype));
    fields.push_back({input.field, element, {type.shape.begin(), type.shape.end()}});
  }
  return fields;
}

// The one optimizer there is, and what it may be told.
absl::StatusOr<Optimizer> OptimizerOf(const Description& description) {
  if (description.optimizer != "sgd") {
    return InvalidArgument("optimizer is {}{}", Quoted(description.optimizer),
                           Suggestion(description.optimizer, {"sgd"}));
  }
  Optimizer optimizer;
  optimizer.clip_norm = description.clip_norm;
  const std::map<std::string, std::variant<double*, bool*>> known = {
      {"momentum", &optimizer.momentum}, {"weight_decay", &optimizer.weight_decay}, {"nesterov", &optimizer.nesterov}};
  for (const auto& [name, value] : description.optimizer_attributes) {
    const auto found = known.find(name);
    if (found == known.end()) {
      return InvalidArgument("optimizer 'sgd' has no attribute {}{}", Quoted(name),
                             Suggestion(name, {"momentum", "nesterov", "weight_decay"}));
    }
    if (double* const* const number = std::get_if<double*>(&found->second)) {
      if (!std::holds_alternative<double>(value)) return InvalidArgument("attribute {} is a number", Quoted(name));
      **number = std::get<double>(value);
    } else {
      if (!std::holds_alternative<bool>(value)) return InvalidArgument("attribute {} is true or false", Quoted(name));
      *std::get<bool*>(found->second) = std::get<bool>(value);
    }
  }
  return optimizer;
}

absl::StatusOr<partita::Model> Described(const Description& description) {
  partita::Model model;
  model.name = description.name;
  ASSIGN_OR_RETURN(model.optimizer, OptimizerOf(description));
  model.learning_rate.base = description.learning_rate;
  std::vector<NodeDescription> nodes;
  for (const Node& node : description.nodes) {
    nodes.push_back({node.name, node.op, node.inputs, AttributesOf(node.attributes)});
  }
  ASSIGN_OR_RETURN(model.graph, BuildGraph(nodes, description.loss, description.metrics, Ops()));
  RETURN_IF_ERROR(VerifyModel(model));
  return model;
}

}  // namespace

Result<Model> Model::Parts::Make(absl::StatusOr<partita::Model> model) {
  if (!model.ok()) return ErrorOf(model.status());
  auto fields = FieldsOf(model->graph);
  if (!fields.ok()) return ErrorOf(fields.status());
  return Model(std::make_shared<const Parts>(Parts{*std::move(model), *std::move(fields)}));
}

Result<Model> Model::FromFile(const std::string& path) {
  return Guarded<Result<Model>>([&] { return Parts::Make(LoadModel(path, Ops())); });
}

Result<Model> Model::FromText(const std::string& pbtxt) {
  // A file ends with a newline, so that one that was cut short is noticed; a text in memory is whole.
  return Guarded<Result<Model>>(
      [&] { return Parts::Make(ParseModel(pbtxt + "\n", ProtoFormat::kText, "the text", Ops())); });
}

Result<Model> Model::FromDescription(const Description& description) {
  return Guarded<Result<Model>>([&] { return Parts::Make(Described(description)); });
}

Result<Model> Model::WithBatch(int64_t batch) const {
  return Guarded<Result<Model>>([&]() -> Result<Model> {
    partita::Model model = parts_->model;
    auto graph = partita::WithBatch(model.graph, batch, Ops());
    if (!graph.ok()) return ErrorOf(graph.status());
    model.graph = *std::move(graph);
    return Parts::Make(std::move(model));
  });
}

std::vector<Field> Model::fields() const { return parts_->fields; }

}  // namespace partita::api
