#include "graph/update/update_nodes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Sums of squares that are added up before anything else happens to them: they lie alike, and their gradients are
// scaled alike. On a GPU they and their sum are one launch (graph/lower/join_norms.h).
struct AlikeSquares {
  Layout layout;
  double scale = 1;
  std::vector<ValueId> sums;
};

// P over every axis of more than one rank.
Layout Summands(const Mesh& mesh) {
  Layout layout = Replicated(mesh);
  for (size_t a = 0; a < layout.size(); ++a) {
    if (mesh.axes[a].size > 1) layout[a] = AxisLayout::Partial();
  }
  return layout;
}

}  // namespace

absl::StatusOr<ValueId> UpdateNodes::Add(Role role, std::vector<ValueId> inputs, Attributes attributes,
                                         const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                   Append(builder_.registry().Get(role).name, std::move(inputs), std::move(attributes), {name}));
  return outputs[0];
}

absl::StatusOr<std::vector<ValueId>> UpdateNodes::Append(const std::string& op, std::vector<ValueId> inputs,
                                                         Attributes attributes, std::vector<std::string> names) {
  NodeRequest request;
  request.op = op;
  request.inputs = std::move(inputs);
  request.attributes = std::move(attributes);
  request.names = std::move(names);
  request.phase = Phase::kUpdate;
  return builder_.Add(request);
}

absl::StatusOr<ValueId> UpdateNodes::Times(double factor, ValueId value) {
  if (factor == 1) return value;
  const std::string name = graph().UniqueName(graph().value(value).name + "@scaled");
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, Append("scale", {value}, {{"factor", factor}}, {name}));
  return outputs[0];
}

ValueId UpdateNodes::ToAllOf(ValueId value, ValueId scalar) {
  Layout layout = graph().layout(value);
  for (AxisLayout& axis : layout) {
    if (!axis.at()) axis = AxisLayout::Replicate();
  }
  return builder_.MoveTo(scalar, layout, Phase::kUpdate);
}

absl::StatusOr<ValueId> UpdateNodes::Squares(ValueId value) {
  return Add(Role::kSumOfSquares, {value}, {}, graph().UniqueName(graph().value(value).name + "@squares"));
}

absl::StatusOr<ValueId> UpdateNodes::SumOfSquares(const std::vector<ScaledGradient>& gradients) {
  std::map<int, std::vector<AlikeSquares>, std::greater<>> by_mesh;  // the first mesh last
  for (const auto& [gradient, scale] : gradients) {
    ASSIGN_OR_RETURN(const ValueId own, Squares(gradient));
    const Layout& layout = graph().layout(own);
    std::vector<AlikeSquares>& of_mesh = by_mesh[graph().mesh(own).id];
    auto alike = std::ranges::find_if(
        of_mesh, [&](const AlikeSquares& other) { return other.layout == layout && other.scale == scale; });
    if (alike == of_mesh.end()) alike = of_mesh.insert(alike, {layout, scale, {}});
    alike->sums.push_back(own);
  }
  std::vector<ValueId> all;  // on the first mesh
  for (const auto& [mesh, squares] : by_mesh) {
    std::vector<ValueId> terms;
    for (const AlikeSquares& alike : squares) {
      ASSIGN_OR_RETURN(const ValueId sum, Sum(alike.sums, "@norm@squares@alike"));
      ASSIGN_OR_RETURN(terms.emplace_back(), Times(alike.scale * alike.scale, sum));
    }
    if (mesh == 0) {
      all.insert(all.begin(), terms.begin(), terms.end());
      continue;
    }
    for (ValueId& term : terms) term = AsSummand(term, graph().mesh(term));
    ASSIGN_OR_RETURN(const ValueId sum, Sum(terms, "@norm@squares@mesh"));
    all.push_back(AsSummand(sum, graph().mesh()));
  }
  if (all.size() > 1) {
    for (ValueId& term : all) term = AsSummand(term, graph().mesh());
  }
  ASSIGN_OR_RETURN(const ValueId sum, Sum(all, "@norm@squares"));
  return builder_.MoveTo(sum, Replicated(graph().mesh()), Phase::kUpdate);
}

absl::StatusOr<ValueId> UpdateNodes::Sum(const std::vector<ValueId>& terms, const std::string& name) {
  if (terms.size() == 1) return terms[0];
  return Add(Role::kAdd, terms, {}, graph().UniqueName(name));
}

ValueId UpdateNodes::AsSummand(ValueId value, const Mesh& mesh) {
  return builder_.MoveTo(value, Summands(mesh), Phase::kUpdate);
}

}  // namespace partita
