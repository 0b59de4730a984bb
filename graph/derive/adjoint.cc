#include "graph/derive/adjoint.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/ir/group_key.h"
#include "graph/ir/node_view.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// True if axis `a` holds overlapping summands of a dimension that other axes split as well, and one of these changes.
bool LosesGhosts(const Layout& from, const Layout& to, size_t a) {
  for (size_t b = 0; to[a].summed() && b < to.size(); ++b) {
    if (from[b].split() && from[b].dimension == to[a].dimension && from[b] != to[b]) return true;
  }
  return false;
}

// True if axis `a` was sliced inside blocks that are now those of windows, which nothing can cut.
bool LosesBlocks(const Layout& from, const Layout& to, size_t a) {
  for (size_t b = 0; to[a].split() && !to[a].windows && b < to.size(); ++b) {
    if (to[b].split() && to[b].dimension == to[a].dimension && to[b].windows && from[a] == to[a]) return true;
  }
  return false;
}

// The layout with balanced cuts where explicit ones do not fit the blocks that they cut.
Layout WithFittingCuts(Layout layout, const Shape& shape, const Mesh& mesh) {
  if (CheckLayout(layout, shape, mesh).ok()) return layout;
  Layout outer = Replicated(mesh);
  for (size_t a = 0; a < layout.size(); ++a) {
    outer[a] = layout[a];
    if (!CheckLayout(outer, shape, mesh).ok()) outer[a].cuts.clear();
  }
  return outer;
}

// To a layout of which only some axes were chosen. Of the others, cuts may lie inside blocks that are gone; ghosts of a
// dimension are returned over all its axes or none.
ValueId MoveAxesTo(LayoutBuilder& builder, ValueId value, const Layout& chosen) {
  const Graph& graph = builder.graph();
  const Layout& from = graph.layout(value);
  if (from == chosen) return value;
  Layout to = chosen;
  for (size_t a = 0; a < to.size(); ++a) {
    if (LosesGhosts(from, chosen, a)) to[a] = AxisLayout::Split(chosen[a].dimension);
    if (LosesBlocks(from, chosen, a)) to[a] = AxisLayout::Replicate();
  }
  to = WithFittingCuts(std::move(to), graph.type(value).shape, graph.mesh(to));
  return builder.MoveTo(value, to, Phase::kBackward);
}

class Adjoint : public GradientBuilder {
 public:
  Adjoint(LayoutBuilder& builder, const UpdateLayouts& updates)
      : builder_(builder), updates_(updates), contributions_(builder.graph().values().size()) {}

  absl::StatusOr<std::map<ValueId, ValueId>> Run() {
    const NodeId forward_nodes = static_cast<NodeId>(graph().nodes().size());
    FindWanted();
    RETURN_IF_ERROR(Seed());
    for (NodeId id = forward_nodes; id-- > 0;) {
      builder_.SetMicroBatch(graph().node(id).micro_batch);
      if (graph().node(id).op->move) {
        RETURN_IF_ERROR(Move(id));
      } else {
        RETURN_IF_ERROR(Op(id));
      }
    }
    builder_.SetMicroBatch(-1);
    return std::move(gradients_);
  }

  const Graph& graph() const override { return builder_.graph(); }

  absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                           const std::string& base) override {
    return AddLike(kNoValue, op, std::move(inputs), std::move(attributes), base);
  }

  absl::StatusOr<std::vector<ValueId>> AddLike(ValueId like, const std::string& op, std::vector<ValueId> inputs,
                                               Attributes attributes, const std::string& base) override {
    NodeRequest request;
    request.like = like;
    request.op = op;
    request.inputs = std::move(inputs);
    request.attributes = std::move(attributes);
    request.phase = Phase::kBackward;
    request.keep_lead = false;
    const OpDefinition* definition = builder_.registry().Find(op);
    CHECK(definition != nullptr);
    for (int o = 0; o < definition->outputs; ++o) request.names.push_back(NewName(base));
    return builder_.Add(request);
  }

 private:
  // Names of one request are not in the graph yet when the next is asked for.
  std::string NewName(const std::string& base) {
    int& count = names_[base];
    ++count;
    std::string name = count == 1 ? base + "@d" : fmt::format("{}@d@{}", base, count);
    CHECK(graph().Find(name) == kNoValue);
    return name;
  }

  // A value's cotangent is wanted if a parameter lies above it.
  void FindWanted() {
    wanted_.assign(graph().values().size(), false);
    for (const Node& node : graph().nodes()) {
      bool wanted = node.op->role == Role::kParameter;
      if (node.op->move || node.op->gradient) {
        for (ValueId input : node.inputs) wanted = wanted || (input != kNoValue && wanted_[input]);
      }
      for (ValueId output : node.outputs) wanted_[output] = wanted;
    }
  }

  absl::Status Seed() {
    RETURN_IF_ERROR(Seed(graph().loss, 1));
    const std::vector<FurtherLoss> further_losses = graph().further_losses;
    for (const FurtherLoss& further : further_losses) RETURN_IF_ERROR(Seed(further.value, further.weight));
    return absl::OkStatus();
  }

  absl::Status Seed(ValueId value, double weight) {
    if (!wanted_[value]) return absl::OkStatus();
    const Value loss = graph().value(value);
    Attributes attributes{{"dtype", std::string(Name(loss.type.dtype))}, {"shape", loss.type.shape}, {"value", weight}};
    ASSIGN_OR_RETURN(const ValueId seed,
                     builder_.AddSource(builder_.registry().Get(Role::kConstant), std::move(attributes),
                                        NewName(loss.name), DualLayout(loss.layout), Phase::kBackward));
    contributions_[value].push_back(seed);
    return absl::OkStatus();
  }

  bool TakesTerms(const Node& node) const {
    return node.op->gradient_of_terms && node.op->gradient_of_terms(ViewOf(graph(), node));
  }

  // The gradient of each term, in whatever layout it came; the value that they go to adds them up.
  absl::Status Terms(NodeId id) {
    const Node node = graph().node(id);
    const ValueId input = node.inputs[0];
    for (ValueId term : std::exchange(contributions_[node.outputs[0]], {})) {
      if (!wanted_[input]) continue;
      builder_.SetMicroBatch(MicroBatchOf(term));
      auto results = node.op->gradient(*this, node, {term}, {true});
      if (!results.ok()) return WithContext(fmt::format("gradient of '{}'", graph().name(id)), results.status());
      contributions_[input].push_back((*results)[0]);
    }
    return absl::OkStatus();
  }

  absl::Status Op(NodeId id) {
    if (TakesTerms(graph().node(id))) return Terms(id);
    const Node node = graph().node(id);  // by value: the graph grows
    std::vector<ValueId> cotangents;
    bool arrived = false;
    for (ValueId output : node.outputs) {
      ASSIGN_OR_RETURN(const ValueId cotangent, Total(output));
      cotangents.push_back(cotangent);
      arrived = arrived || cotangent != kNoValue;
    }
    if (!arrived) return absl::OkStatus();
    if (node.op->role == Role::kParameter) {
      gradients_[node.outputs[0]] = cotangents[0];
      return absl::OkStatus();
    }
    if (!node.op->gradient) return absl::OkStatus();
    std::vector<bool> wanted;
    bool any = false;
    for (ValueId input : node.inputs) {
      wanted.push_back(input != kNoValue && wanted_[input]);
      any = any || wanted.back();
    }
    if (!any) return absl::OkStatus();
    auto results = node.op->gradient(*this, node, cotangents, wanted);
    if (!results.ok()) return WithContext(fmt::format("gradient of '{}'", graph().name(id)), results.status());
    CHECK(results->size() == node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (wanted[i] && (*results)[i] != kNoValue) contributions_[node.inputs[i]].push_back((*results)[i]);
    }
    return absl::OkStatus();
  }

  // The adjoint of a move is applied to each sum by the form in which it comes; the results go to the move's input.
  absl::Status Move(NodeId id) {
    const Node node = graph().node(id);
    const ValueId input = node.inputs[0], output = node.outputs[0];
    if (!wanted_[input] || contributions_[output].empty()) return absl::OkStatus();
    const Layout source = graph().layout(input), forward = graph().layout(output);  // by value: the graph grows
    const std::string base = graph().value(output).name;
    ASSIGN_OR_RETURN(std::vector<ValueId> sums, SumPerLayout(contributions_[output], base));
    if (node.op->move == MoveKind::kReshard && sums.size() > 1) {  // one way back for all of them
      contributions_[output] = std::move(sums);
      ASSIGN_OR_RETURN(const ValueId total, Total(output));
      sums = {total};
    } else if (node.op->move == MoveKind::kAllGather || node.op->move == MoveKind::kBroadcast) {
      ASSIGN_OR_RETURN(sums, ResolveUneven(sums, forward, &source));
    } else {
      ASSIGN_OR_RETURN(sums, ResolveUneven(sums, forward, nullptr));
    }
    for (ValueId sum : sums) contributions_[input].push_back(AppendMoveAdjoint(builder_, node, sum));
    contributions_[output].clear();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<ValueId>> SumPerLayout(const std::vector<ValueId>& values, const std::string& base) {
    std::vector<std::vector<ValueId>> by_layout;
    for (ValueId value : values) {
      auto same = std::find_if(by_layout.begin(), by_layout.end(), [&](const std::vector<ValueId>& group) {
        return graph().layout(group[0]) == graph().layout(value);
      });
      if (same == by_layout.end()) {
        by_layout.push_back({value});
      } else {
        same->push_back(value);
      }
    }
    std::vector<ValueId> sums;
    for (std::vector<ValueId>& group : by_layout) {
      ASSIGN_OR_RETURN(const ValueId sum, Sum(std::move(group), base));
      sums.push_back(sum);
    }
    return sums;
  }

  int32_t MicroBatchOf(ValueId value) const { return graph().node(graph().value(value).producer).micro_batch; }

  // Contributions of micro-batches are added one micro-batch after the other, each as soon as it is there: not all of
  // them have to be kept.
  absl::StatusOr<ValueId> Sum(std::vector<ValueId> values, const std::string& base) {
    std::stable_sort(values.begin(), values.end(),
                     [&](ValueId a, ValueId b) { return MicroBatchOf(a) < MicroBatchOf(b); });
    const int32_t own = builder_.micro_batch();
    std::vector<ValueId> terms;
    for (size_t i = 0; i < values.size(); ++i) {
      terms.push_back(values[i]);
      const int32_t micro_batch = MicroBatchOf(values[i]);
      if (terms.size() == 1 || (i + 1 < values.size() && MicroBatchOf(values[i + 1]) == micro_batch)) continue;
      builder_.SetMicroBatch(micro_batch);
      ASSIGN_OR_RETURN(terms, Add(builder_.registry().Get(Role::kAdd).name, std::move(terms), {}, base));
    }
    CHECK(terms.size() == 1);
    builder_.SetMicroBatch(own);
    return terms[0];
  }

  // S and At contributions to a value that is R over an axis. Next to a P sum, or to another S or At, they join the P
  // sum; alone they are brought to R, or straight to where `source` (the layout before an all_gather or broadcast)
  // wants them.
  absl::StatusOr<std::vector<ValueId>> ResolveUneven(std::vector<ValueId> sums, const Layout& forward,
                                                     const Layout* source) {
    for (size_t a = 0; a < forward.size(); ++a) {
      if (!forward[a].replicated() && !forward[a].partial()) continue;
      std::vector<AxisLayout> forms;
      bool partial = false;
      for (ValueId sum : sums) {
        const AxisLayout& form = graph().layout(sum)[a];
        partial = partial || form.partial();
        if ((form.split() || form.at()) && std::find(forms.begin(), forms.end(), form) == forms.end())
          forms.push_back(form);
      }
      for (ValueId& sum : sums) {
        Layout to = graph().layout(sum);
        if (!to[a].split() && !to[a].at()) continue;
        if (partial || forms.size() > 1) {
          to[a] = AxisLayout::Partial();
        } else if (source != nullptr && (*source)[a].kind == to[a].kind) {
          continue;  // S or At: its move takes it straight to the source
        } else {
          to[a] = AxisLayout::Replicate();
        }
        sum = MoveAxesTo(builder_, sum, to);
      }
    }
    return sums;
  }

  // The cotangent of an op's output or of a parameter, resolved: no P, no S or At where the value is R.
  absl::StatusOr<ValueId> Total(ValueId value) {
    if (contributions_[value].empty()) return kNoValue;
    const Layout forward = graph().layout(value);
    auto update = updates_.find(value);
    const Layout wanted = update == updates_.end() ? DualLayout(forward) : update->second;
    const bool resolved = contributions_[value].size() == 1 && graph().layout(contributions_[value][0]) == wanted;
    if (resolved && update == updates_.end()) return std::exchange(contributions_[value], {})[0];
    const std::string base = graph().value(value).name;
    ASSIGN_OR_RETURN(std::vector<ValueId> sums, SumPerLayout(contributions_[value], base));
    ASSIGN_OR_RETURN(sums, ResolveUneven(std::move(sums), forward, nullptr));
    ASSIGN_OR_RETURN(sums, SumPerLayout(sums, base));
    for (ValueId& sum : sums) {
      Layout to = graph().layout(sum);
      for (size_t a = 0; a < to.size(); ++a) {
        if (to[a].partial()) to[a] = wanted[a];
      }
      sum = MoveAxesTo(builder_, sum, to);
    }
    for (ValueId& sum : sums) sum = builder_.MoveTo(sum, wanted, Phase::kBackward);
    ASSIGN_OR_RETURN(sums, SumPerLayout(sums, base));
    CHECK(sums.size() == 1);
    contributions_[value].clear();
    return sums[0];
  }

  LayoutBuilder& builder_;
  const UpdateLayouts& updates_;
  std::vector<std::vector<ValueId>> contributions_;  // by forward value
  std::vector<bool> wanted_;
  std::unordered_map<std::string, int> names_;
  std::map<ValueId, ValueId> gradients_;
};

}  // namespace

Layout DualLayout(const Layout& layout) {
  Layout dual = layout;
  for (AxisLayout& axis : dual) {
    if (axis.partial()) axis = AxisLayout::Replicate();
    if (axis.windows) axis.windows->summed = !axis.windows->summed;
  }
  return dual;
}

ValueId AppendMoveAdjoint(LayoutBuilder& builder, const Node& move, ValueId cotangent) {
  const Graph& graph = builder.graph();
  // R -> S and R -> At: the cotangent stays where it is; the sum over consumers decides later.
  if (move.op->move == MoveKind::kSlice || move.op->move == MoveKind::kDrop) return cotangent;
  const Layout before = DualLayout(graph.layout(move.inputs[0]));
  Layout to = graph.layout(cotangent);
  if (move.op->move == MoveKind::kReshard) return builder.MoveTo(cotangent, before, Phase::kBackward);
  for (int axis : MoveAxes(graph, move)) to[axis] = before[axis];
  return MoveAxesTo(builder, cotangent, to);
}

absl::StatusOr<std::map<ValueId, ValueId>> AppendAdjoint(LayoutBuilder& builder, const UpdateLayouts& updates) {
  CHECK(builder.graph().loss != kNoValue);
  return Adjoint(builder, updates).Run();
}

}  // namespace partita
