#include "graph/given/give_inputs.h"

#include <utility>
#include <vector>

#include "graph/ir/entry_point.h"
#include "graph/ir/node_view.h"
#include "graph/ir/rewriter.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Giver {
 public:
  Giver(const Graph& graph, const GivenForms& forms, const OpRegistry& registry)
      : registry_(registry), rewriter_(graph) {
    for (const EntryInput& input : InputsOf(graph)) {
      const auto form = forms.find(input.field);
      if (form == forms.end()) continue;
      for (const ValueId value : input.values) given_[value] = &*form;
    }
  }

  absl::StatusOr<Graph> Run() {
    const Graph& from = rewriter_.from();
    for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
      const auto given = given_.find(from.node(id).outputs[0]);
      if (given == given_.end()) {
        rewriter_.Copy(id);
      } else {
        RETURN_IF_ERROR(WithContext(fmt::format("input '{}'", from.name(id)),
                                    Give(id, given->second->first, given->second->second)));
      }
    }
    return rewriter_.Finish();
  }

 private:
  absl::Status Give(NodeId id, const std::string& field, const GivenForm& form) {
    Graph& graph = rewriter_.graph();
    const Value read = rewriter_.Outputs(id)[0];
    Node input = rewriter_.from().node(id);
    input.outputs.clear();
    input.attributes.Set("dtype", std::string(Name(form.dtype)));
    input.attributes.Set(kField, field);
    const std::string name = graph.UniqueName(read.name + "@given");
    const NodeId added = graph.AddNode(std::move(input), {{name, {form.dtype, read.type.shape}, read.layout, -1}});

    const OpDefinition* const op = registry_.Find(form.op);
    CHECK(op != nullptr);
    Attributes attributes = form.attributes;
    attributes.Set("dtype", std::string(Name(read.type.dtype)));
    ASSIGN_OR_RETURN(attributes, CompleteAttributes(*op, attributes));
    Node node{op, std::move(attributes), graph.node(added).outputs, {}, Phase::kForward};
    node.micro_batch = rewriter_.from().node(id).micro_batch;
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(graph, node));
    CHECK(types == std::vector<TensorType>{read.type});
    rewriter_.Replace(id, std::move(node));
    return absl::OkStatus();
  }

  const OpRegistry& registry_;
  Rewriter rewriter_;
  std::map<ValueId, const GivenForms::value_type*> given_;  // by the input's value
};

}  // namespace

absl::StatusOr<Graph> GiveInputs(const Graph& graph, const GivenForms& forms, const OpRegistry& registry) {
  return Giver(graph, forms, registry).Run();
}

}  // namespace partita
