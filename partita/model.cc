// Models from files, from text, and from descriptions in C++.
#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/proto_io/proto_io.h"
#include "graph/read/learning_rate.h"
#include "graph/read/model_entries.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "importer/import_model.h"
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

partita::Optimizer OptimizerOf(const Description& description) {
  partita::Optimizer optimizer;
  optimizer.name = description.optimizer;
  optimizer.attributes = AttributesOf(description.optimizer_attributes);
  optimizer.clip_norm = description.clip_norm;
  for (const ParameterGroup& group : description.groups) {
    optimizer.groups.push_back({group.pattern, group.rate, AttributesOf(group.attributes), group.clip_norm});
  }
  if (description.average) {
    const MovingAverage& average = *description.average;
    optimizer.average = partita::MovingAverage{average.decay, average.pattern, average.warmup};
  }
  return optimizer;
}

absl::StatusOr<partita::Model> Described(const Description& description) {
  partita::Model model;
  model.name = description.name;
  model.optimizer = OptimizerOf(description);
  model.learning_rate.base = description.learning_rate;
  RETURN_IF_ERROR(
      WithContext("Description::schedule", SetSchedule(AttributesOf(description.schedule), model.learning_rate)));
  std::vector<NodeDescription> nodes;
  for (const Node& node : description.nodes) {
    nodes.push_back({node.name, node.op, node.inputs, AttributesOf(node.attributes)});
  }
  std::vector<FurtherLossDescription> further_losses;
  for (const FurtherLoss& further : description.further_losses) {
    further_losses.push_back({further.value, further.weight, further.training_only});
  }
  ASSIGN_OR_RETURN(model.graph, BuildGraph(nodes, description.loss, description.metrics, Ops(), further_losses));
  RETURN_IF_ERROR(VerifyModel(model, Ops()));
  return model;
}

}  // namespace

Result<Model> Model::Parts::Make(absl::StatusOr<partita::Model> model, const std::string& source,
                                 const std::string& loss) {
  if (!model.ok()) return ErrorOf(model.status());
  auto fields = FieldsOf(model->graph);
  if (!fields.ok()) return ErrorOf(fields.status());
  return Model(std::make_shared<const Parts>(Parts{*std::move(model), *std::move(fields), source, loss}));
}

Result<Model> Model::FromFile(const std::string& path, const Import& import) {
  const ImportOptions options{.loss = import.loss, .frozen_statistics = import.frozen_statistics};
  return Guarded<Result<Model>>([&] { return Parts::Make(ReadModelFile(path, Ops(), options), path, import.loss); });
}

Result<Model> Model::FromText(const std::string& pbtxt) {
  // A file ends with a newline, so that one that was cut short is noticed; a text in memory is whole.
  return Guarded<Result<Model>>(
      [&] { return Parts::Make(ParseModel(pbtxt + "\n", ProtoFormat::kText, "the text", Ops()), "the text"); });
}

Result<Model> Model::FromDescription(const Description& description) {
  return Guarded<Result<Model>>([&] { return Parts::Make(Described(description), "the description"); });
}

Result<Model> Model::WithBatch(int64_t batch) const {
  return Guarded<Result<Model>>([&]() -> Result<Model> {
    return Parts::Make(partita::WithBatch(parts_->model, batch, Ops()), parts_->source, parts_->loss);
  });
}

std::vector<Field> Model::fields() const { return parts_->fields; }

}  // namespace partita::api
