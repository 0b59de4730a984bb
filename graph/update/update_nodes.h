// Appends nodes of the update phase: single ones, and sums of squares over tensors that are laid out differently.
#ifndef PARTITA_GRAPH_UPDATE_UPDATE_NODES_H_
#define PARTITA_GRAPH_UPDATE_UPDATE_NODES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/layout_builder.h"

namespace partita {

// A gradient, and what it is multiplied by before its square enters a sum.
struct ScaledGradient {
  ValueId value = kNoValue;
  double scale = 1;
};

class UpdateNodes {
 public:
  // `builder` must outlive it.
  explicit UpdateNodes(LayoutBuilder& builder) : builder_(builder) {}

  // The op in this role, which has one output.
  absl::StatusOr<ValueId> Add(Role role, std::vector<ValueId> inputs, Attributes attributes, const std::string& name);
  absl::StatusOr<std::vector<ValueId>> Append(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                              std::vector<std::string> names);

  // `factor` times the value; the value itself if the factor is 1.
  absl::StatusOr<ValueId> Times(double factor, ValueId value);

  // A scalar on every rank that has a part of `value`.
  ValueId ToAllOf(ValueId value, ValueId scalar);

  // The sum of the squares of one whole value, not yet added up over its ranks.
  absl::StatusOr<ValueId> Squares(ValueId value);

  // The sum of the squares of several gradients, on every rank of the first mesh: local sums, S gives P, R counts on
  // coordinate 0 of that axis only, At as it lies; one all_reduce (docs/design.md 5.20). A gradient that is listed
  // twice counts twice.
  absl::StatusOr<ValueId> SumOfSquares(const std::vector<ScaledGradient>& gradients);

 private:
  Graph& graph() { return builder_.graph(); }
  absl::StatusOr<ValueId> Sum(const std::vector<ValueId>& terms, const std::string& name);
  ValueId AsSummand(ValueId value, const Mesh& mesh);

  LayoutBuilder& builder_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_UPDATE_UPDATE_NODES_H_
