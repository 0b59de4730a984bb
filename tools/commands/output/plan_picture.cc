// DrawPlan: the picture of `trainer plan --format=dot`: a box for each layer, which is all nodes of one name before the
// last '/', in a frame for each block of layers. Names and layouts have no characters that dot must be told of
// (graph/value/node_name.h).
#include <algorithm>
#include <map>
#include <set>

#include "graph/ir/generated_name.h"
#include "run/plan_page/plan_parts.h"
#include "runtime/base/number.h"
#include "runtime/telemetry/progress.h"
#include "tools/commands/output/plan_text.h"

namespace partita {
namespace {

constexpr char kScalars[] = "scalars of the step";

// What is drawn as one box.
struct Layer {
  std::vector<std::string> ops;                          // forward, each once, in order
  std::string result;                                    // type and layout of the last of them
  double flops = 0;                                      // of all phases
  std::map<std::string, std::pair<int, int64_t>> moves;  // "all_reduce over data": how many, wire bytes
};

bool IsMove(const PlanNodeProto& node) { return node.axes_size() + node.meshes_size() > 0; }

bool IsSource(const PlanNodeProto& node) {
  return node.op() == "parameter" || node.op() == "state" || node.op() == "constant";
}

// Up to the last '/'; all of it, if there is none.
std::string Parent(const std::string& name) { return name.substr(0, name.rfind('/')); }

class Picture {
 public:
  explicit Picture(const PlanProto& plan) : plan_(plan) {
    for (const PlanNodeProto& node : plan.nodes()) {
      const bool names_a_layer = node.phase() == "forward" && !IsSource(node) && !UserNameOf(node.name()).empty();
      if (names_a_layer && known_.insert(Parent(UserNameOf(node.name()))).second)
        order_.push_back(Parent(UserNameOf(node.name())));
    }
    for (const PlanNodeProto& node : plan.nodes()) Add(node);
    if (layers_.count(kScalars) > 0) order_.push_back(kScalars);
  }

  std::string Draw() const {
    std::string text =
        fmt::format("digraph \"{}\" {{\n  node [shape=box style=filled fillcolor=white];\n", plan_.model()) +
        DrawMesh() + DrawLayers();
    for (const auto& [from, to] : edges_) text += fmt::format("  \"{}\" -> \"{}\";\n", from, to);
    return text + "}\n";
  }

 private:
  // The nearest layer around a node: a parameter lies deeper than what reads it.
  std::string LayerOf(const std::string& name) const {
    std::string layer = UserNameOf(name);
    while (known_.count(layer) == 0) {
      if (layer.find('/') == std::string::npos) return kScalars;
      layer = Parent(layer);
    }
    return layer;
  }

  void Add(const PlanNodeProto& node) {
    const std::string name = LayerOf(node.name());
    for (const std::string& value : node.outputs()) producers_[value] = name;
    if (name == kScalars && node.wire_bytes() == 0) return;
    Layer& layer = layers_[name];
    layer.flops += node.flops();
    if (IsMove(node)) {
      auto& [count, bytes] = layer.moves[fmt::format("{} over {}", node.op(), FormatMeeting(node))];
      ++count;
      bytes += node.wire_bytes();
    }
    if (node.phase() == "forward" && !IsSource(node)) AddForward(node, name, layer);
  }

  void AddForward(const PlanNodeProto& node, const std::string& name, Layer& layer) {
    for (const std::string& value : node.inputs()) {
      const auto from = producers_.find(value);
      if (from != producers_.end() && from->second != name && from->second != kScalars) {
        edges_.emplace(from->second, name);
      }
    }
    if (IsMove(node)) return;
    if (std::ranges::find(layer.ops, node.op()) == layer.ops.end()) layer.ops.push_back(node.op());
    layer.result = fmt::format("{} {}", node.type(), node.layout());
  }

  std::string DrawMesh() const {
    std::string label = Counted(plan_.ranks_size(), "rank") + ", mesh" + FormatMesh(plan_);
    for (const PlanGroupProto& group : plan_.groups()) {
      label += fmt::format("\n{} {{{}}}: {} collectives, {} on the wire", FormatMeeting(group),
                           fmt::join(group.ranks(), ","), group.operations(), FormatBytes(group.wire_bytes()));
    }
    label += "\na box: a layer, its forward ops and result, the work and the moves of a whole step\n";
    std::string escaped;
    for (const char c : label) escaped += c == '\n' ? std::string("\\l") : std::string(1, c);
    return fmt::format("  \"a step\" [shape=note label=\"{}\"];\n", escaped);
  }

  std::string DrawLayer(const std::string& name) const {
    const Layer& layer = layers_.at(name);
    std::string label = name;
    if (!layer.ops.empty()) label += fmt::format("\\n{}\\n{}", fmt::join(layer.ops, ", "), layer.result);
    if (layer.flops > 0) label += fmt::format("\\n{:.2f} MFLOP", layer.flops / 1e6);
    for (const auto& [move, count] : layer.moves) {
      label += fmt::format("\\n{} {}: {}", count.first, move, FormatBytes(count.second));
    }
    return fmt::format("\"{}\" [label=\"{}\"{}];\n", name, label, Colour(layer));
  }

  // By the coordinates that alone have the layer, so that what runs side by side looks different.
  static std::string Colour(const Layer& layer) {
    constexpr const char* kColours[] = {"lightblue", "lightsalmon",   "palegreen", "khaki",
                                        "plum",      "paleturquoise", "wheat",     "lightpink"};
    const size_t at = layer.result.find(":At");
    if (at == std::string::npos) return "";
    return fmt::format(" fillcolor={}", kColours[std::stoul(layer.result.substr(at + 3)) % std::size(kColours)]);
  }

  std::string DrawLayers() const {
    std::map<std::string, std::vector<std::string>> blocks;
    for (const std::string& layer : order_) blocks[BlockOf(layer)].push_back(layer);
    std::set<std::string> drawn;
    std::string text;
    for (const std::string& layer : order_) {
      const std::string block = BlockOf(layer);
      if (!drawn.insert(block).second) continue;
      const bool framed = blocks[block].size() > 1;
      if (framed) text += fmt::format("  subgraph \"cluster_{0}\" {{\n    label=\"{0}\";\n", block);
      for (const std::string& member : blocks[block]) text += (framed ? "    " : "  ") + DrawLayer(member);
      if (framed) text += "  }\n";
    }
    return text;
  }

  const PlanProto& plan_;
  std::set<std::string> known_;
  std::vector<std::string> order_;  // of layers in the forward pass
  std::map<std::string, Layer> layers_;
  std::map<std::string, std::string> producers_;  // the layer of each value
  std::set<std::pair<std::string, std::string>> edges_;
};

}  // namespace

std::string DrawPlan(const PlanProto& plan) { return Picture(plan).Draw(); }

}  // namespace partita
