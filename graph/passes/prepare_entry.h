// Makes the forward graph of an entry point from the user's graph: every node whose op defines another form for this
// entry (OpDefinition::in_training, in_evaluation) is replaced by that form, all others are copied.
#ifndef PARTITA_GRAPH_PASSES_PREPARE_ENTRY_H_
#define PARTITA_GRAPH_PASSES_PREPARE_ENTRY_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/rewriter.h"

namespace partita {

class EntryPreparation : public EntryBuilder {
 public:
  // Both must outlive it.
  EntryPreparation(const Graph& forward, const OpRegistry& registry) : registry_(registry), rewriter_(forward) {}

  // The step's number, as a state that begins at 0; before the nodes.
  absl::Status AddIteration();

  // The graph, with what `preparation` says of each op. An error names the node.
  absl::StatusOr<Graph> Run(Preparation OpDefinition::*preparation);

  const Graph& graph() const override;
  absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                           const std::vector<std::string>& names) override;
  ValueId iteration() const override { return iteration_; }
  absl::StatusOr<ValueId> SampleWeight(const TensorType& type) override;
  void SetUpdate(ValueId state, ValueId value) override { updates_.emplace_back(state, value); }
  std::optional<SampleRows> SamplesOf(ValueId value) override;

 private:
  absl::Status Prepare(NodeId id, const Preparation& preparation);
  absl::StatusOr<std::vector<ValueId>> Append(const OpDefinition& op, std::vector<ValueId> inputs,
                                              Attributes attributes, const std::vector<std::string>& names);

  const OpRegistry& registry_;
  Rewriter rewriter_;
  ValueId iteration_ = kNoValue;
  std::vector<ValueId> states_;                       // that were added
  std::vector<std::pair<ValueId, ValueId>> updates_;  // states and what they become
  std::vector<std::optional<SampleRows>> samples_;    // of the values that existed at the last call
};

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_PREPARE_ENTRY_H_
