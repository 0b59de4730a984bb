#include "graph/passes/choose_exchanges.h"

#include <fmt/format.h>

#include <map>

#include "graph/ir/group_key.h"
#include "graph/ir/rewriter.h"

namespace partita {
namespace {

class ExchangeChooser {
 public:
  ExchangeChooser(const Graph& graph, const LinkCost& link, std::optional<ExchangeMode> only)
      : graph_(graph), link_(link), only_(only) {}

  const ExchangeChoice& Of(const Node& node) {
    const Value& from = graph_.value(node.inputs[0]);
    const Layout& to = graph_.layout(node.outputs[0]);
    const Mesh &from_mesh = graph_.mesh(from.layout), &to_mesh = graph_.mesh(to);
    const GroupKey group_key = KeyOf(graph_, node);
    // Layers that repeat make the same exchanges.
    const std::string key =
        fmt::format("{} {} {} {} {} {}", fmt::join(group_key.axes, ","), Name(from.type.dtype),
                    ToString(from.type.shape), from_mesh.id, ToString(from.layout, from_mesh), ToString(to, to_mesh));
    const auto [known, inserted] = choices_.try_emplace(key + fmt::format(" {}", to_mesh.id));
    if (!inserted) return known->second;
    std::vector<ExchangeBoxes> groups;
    for (const std::vector<int>& ranks : GroupsOf(group_key, graph_.meshes())) {
      groups.push_back(BoxesOfMove(from.layout, from_mesh, to, to_mesh, from.type.shape, ranks));
    }
    return known->second = ChooseExchange(groups, SizeOf(from.type.dtype), link_, only_);
  }

 private:
  const Graph& graph_;
  const LinkCost& link_;
  const std::optional<ExchangeMode> only_;
  std::map<std::string, ExchangeChoice> choices_;
};

}  // namespace

Graph ChooseExchanges(Graph graph, const LinkCost& link, std::optional<ExchangeMode> only) {
  if (only == ExchangeMode::kDirect) return graph;
  ExchangeChooser chooser(graph, link, only);
  std::map<NodeId, ExchangeChoice> chosen;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!IsExchange(*graph.node(id).op)) continue;
    const ExchangeChoice& choice = chooser.Of(graph.node(id));
    if (choice.mode != ExchangeMode::kDirect) chosen.emplace(id, choice);
  }
  if (chosen.empty()) return graph;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const auto choice = chosen.find(id);
    if (choice == chosen.end()) {
      rewriter.Copy(id);
      continue;
    }
    Node node = graph.node(id);
    node.attributes.Set("mode", std::string(Name(choice->second.mode)));
    node.attributes.Set("chunks", int64_t{choice->second.chunks});
    node.inputs[0] = rewriter.At(node.inputs[0]);
    rewriter.Replace(id, std::move(node));
  }
  return rewriter.Finish();
}

}  // namespace partita
