#include <algorithm>
#include <charconv>
#include <sstream>

#include "graph/ir/node_view.h"
#include "graph/text/text.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Words of a line: split at blanks outside of brackets and braces; a comma before a blank is a word of its own.
std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '#' && depth == 0) break;
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    const bool comma = c == ',' && (i + 1 == line.size() || line[i + 1] == ' ');
    if (depth == 0 && (c == ' ' || c == '\t' || comma)) {
      if (!words.back().empty()) words.emplace_back();
      if (comma) {
        words.back().assign(1, ',');
        words.emplace_back();
      }
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, separator)) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin != std::string::npos) parts.push_back(part.substr(begin, part.find_last_not_of(' ') - begin + 1));
  }
  return parts;
}

template <typename T>
bool ParseNumber(const std::string& text, T& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseInts(const std::string& text, IntList& numbers) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  for (const std::string& part : SplitAt(text.substr(1, text.size() - 2), ',')) {
    int64_t number = 0;
    if (!ParseNumber(part, number)) return false;
    numbers.push_back(number);
  }
  return true;
}

absl::StatusOr<Attribute> ParseAttribute(const std::string& text, const Attribute& type) {
  int64_t integer = 0;
  double number = 0;
  IntList integers;
  if (std::holds_alternative<bool>(type) && (text == "true" || text == "false")) return Attribute(text == "true");
  if (std::holds_alternative<int64_t>(type) && ParseNumber(text, integer)) return Attribute(integer);
  if (std::holds_alternative<double>(type) && ParseNumber(text, number)) return Attribute(number);
  if (std::holds_alternative<std::string>(type)) return Attribute(text);
  if (std::holds_alternative<IntList>(type) && ParseInts(text, integers)) return Attribute(integers);
  return InvalidArgument("'{}' is no value of the attribute", text);
}

class TextParser {
 public:
  TextParser(const std::string& text, const OpRegistry& registry) : text_(text), registry_(registry) {}

  absl::StatusOr<Graph> Run() {
    std::istringstream stream(text_);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      const std::vector<std::string> words = Words(line);
      if (words.empty()) continue;
      RETURN_IF_ERROR(WithContext(fmt::format("line {}", number), Line(words)));
    }
    for (const auto& [state, update] : states_) {
      ASSIGN_OR_RETURN(const ValueId value, Find(state));
      ValueId next = kNoValue;
      if (!update.empty()) {
        ASSIGN_OR_RETURN(next, Find(update));
      }
      graph_.AddState({value, next});
    }
    return std::move(graph_);
  }

 private:
  absl::StatusOr<ValueId> Find(const std::string& reference) const {
    const ValueId value = reference.rfind('%', 0) == 0 ? graph_.Find(reference.substr(1)) : kNoValue;
    if (value == kNoValue) return InvalidArgument("'{}' is no value of an earlier line", reference);
    return value;
  }

  absl::Status Line(const std::vector<std::string>& words) {
    if (words[0] == "mesh") return MeshLine(words);
    if (words[0] == "phase" && words.size() == 2) return PhaseLine(words[1]);
    if (words[0] == "state" && words.size() == 2) return states_.push_back({words[1], ""}), absl::OkStatus();
    if (words[0] == "state" && words.size() == 4) return states_.push_back({words[1], words[3]}), absl::OkStatus();
    if (words[0] == "loss" && words.size() == 2) {
      ASSIGN_OR_RETURN(graph_.loss, Find(words[1]));
      return absl::OkStatus();
    }
    if (words[0] == "further_loss") return FurtherLossLine(words);
    if (words[0] == "apply" && words.size() == 2) {
      ASSIGN_OR_RETURN(graph_.apply, Find(words[1]));
      return absl::OkStatus();
    }
    if (words[0] == "metric" && words.size() == 2) {
      ASSIGN_OR_RETURN(const ValueId metric, Find(words[1]));
      graph_.metrics.push_back(metric);
      return absl::OkStatus();
    }
    if (words[0] == "votes" && words.size() == 4) {
      ASSIGN_OR_RETURN(graph_.votes.cast, Find(words[1]));
      ASSIGN_OR_RETURN(graph_.votes.sum, Find(words[3]));
      return absl::OkStatus();
    }
    return NodeLine(words);
  }

  absl::Status FurtherLossLine(const std::vector<std::string>& words) {
    FurtherLoss further;
    const bool training_only = words.size() == 4 && words[3] == "training_only";
    if ((words.size() != 3 && !training_only) || !ParseNumber(words[2], further.weight)) {
      return InvalidArgument("further_loss %value weight [training_only] is expected");
    }
    ASSIGN_OR_RETURN(further.value, Find(words[1]));
    further.training_only = training_only;
    graph_.further_losses.push_back(further);
    return absl::OkStatus();
  }

  absl::Status MeshLine(const std::vector<std::string>& words) {
    if (!graph_.nodes().empty()) return InvalidArgument("a mesh behind the first node");
    Mesh mesh;
    const bool first = graph_.mesh().axes.empty();
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i][0] == '{') {
        RETURN_IF_ERROR(ParseRanks(words[i], mesh.ranks));
      } else if (!first && i == 1) {
        mesh.name = words[i];
      } else {
        RETURN_IF_ERROR(MeshAxisWord(words[i], mesh));
      }
    }
    if (!mesh.ranks.empty() && static_cast<int>(mesh.ranks.size()) != mesh.size()) {
      return InvalidArgument("{} for a mesh of {}", Counted(mesh.ranks.size(), "rank"), mesh.size());
    }
    std::vector<Mesh> meshes;
    if (!first) meshes = graph_.meshes();
    mesh.id = static_cast<int>(meshes.size());
    meshes.push_back(std::move(mesh));
    graph_ = Graph(std::move(meshes));
    return absl::OkStatus();
  }

  absl::Status MeshAxisWord(const std::string& word, Mesh& mesh) const {
    const size_t colon = word.find(':');
    int size = 0;
    if (colon == std::string::npos || !ParseNumber(word.substr(colon + 1), size)) {
      return InvalidArgument("'{}' is no mesh axis; name:size is expected", word);
    }
    mesh.axes.push_back({word.substr(0, colon), size});
    return absl::OkStatus();
  }

  // "{1,4}": ranks of the first mesh.
  absl::Status ParseRanks(const std::string& word, std::vector<int>& ranks) const {
    for (const std::string& part : SplitAt(word.substr(1, word.size() - 2), ',')) {
      int rank = 0;
      if (!ParseNumber(part, rank) || !graph_.mesh().Has(rank)) {
        return InvalidArgument("'{}' in {} is no rank of the first mesh", part, word);
      }
      ranks.push_back(rank);
    }
    return absl::OkStatus();
  }

  absl::Status PhaseLine(const std::string& name) {
    for (Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
      if (name == Name(phase)) {
        phase_ = phase;
        return absl::OkStatus();
      }
    }
    return InvalidArgument("phase '{}'; allowed are forward, backward, update", name);
  }

  absl::Status NodeLine(const std::vector<std::string>& words) {
    size_t w = 0;
    std::vector<Value> outputs;
    for (; w < words.size() && words[w] != "="; ++w) {
      if (words[w] == ",") continue;
      if (words[w][0] != '%') return InvalidArgument("'{}' found where an output is expected", words[w]);
      outputs.push_back({words[w].substr(1), {}, {}, -1});
      if (graph_.Find(outputs.back().name) != kNoValue) return InvalidArgument("'{}' is named twice", words[w]);
    }
    if (outputs.empty() || w + 1 >= words.size()) return InvalidArgument("%name = op(...) is expected");
    const std::string& call = words[++w];
    const size_t open = call.find('(');
    if (open == std::string::npos || call.back() != ')') return InvalidArgument("'{}' is no op(...)", call);
    Node node;
    node.phase = phase_;
    node.op = registry_.Find(call.substr(0, open));
    if (node.op == nullptr) return InvalidArgument("unknown op '{}'", call.substr(0, open));
    for (const std::string& reference : SplitAt(call.substr(open + 1, call.size() - open - 2), ',')) {
      node.inputs.push_back(kNoValue);
      if (reference == "_") continue;
      ASSIGN_OR_RETURN(node.inputs.back(), Find(reference));
    }
    bool typed = false;
    size_t output = 0;
    for (++w; w < words.size(); ++w) {
      if (words[w] == ",") {
        ++output;
      } else if (output >= outputs.size()) {
        return InvalidArgument("more types than outputs");
      } else {
        RETURN_IF_ERROR(Suffix(words[w], node, outputs[output], typed));
      }
    }
    return AddNode(std::move(node), std::move(outputs), typed);
  }

  // An attribute, a type or a layout.
  absl::Status Suffix(const std::string& word, Node& node, Value& output, bool& typed) {
    const size_t equals = word.find('='), bracket = word.find('[');
    if (word[0] == '{') {
      return ParseLayout(word, output.layout);
    }
    if (equals != std::string::npos) {
      const std::string name = word.substr(0, equals);
      const AttributeDefinition* definition = node.op->FindAttribute(name);
      if (definition == nullptr) return InvalidArgument("op '{}' has no attribute '{}'", node.op->name, name);
      ASSIGN_OR_RETURN(Attribute value, ParseAttribute(word.substr(equals + 1), definition->type_and_default));
      node.attributes.Set(name, std::move(value));
      return absl::OkStatus();
    }
    const std::optional<DType> dtype = ParseDType(word.substr(0, bracket));
    if (!dtype || bracket == std::string::npos || !ParseInts(word.substr(bracket), output.type.shape)) {
      return InvalidArgument("'{}' is no attribute, type or layout", word);
    }
    output.type.dtype = *dtype;
    typed = true;
    return absl::OkStatus();
  }

  // Of the mesh whose axis it names first; of the first one if it names none.
  absl::Status ParseLayout(const std::string& word, Layout& layout) const {
    const std::vector<std::string> parts = SplitAt(word.substr(1, word.size() - 2), ' ');
    const std::string first = parts.empty() ? "" : parts[0].substr(0, parts[0].find(':'));
    const Mesh& mesh = graph_.meshes()[std::max(FindAxis(graph_.meshes(), first).mesh, 0)];
    layout = Replicated(mesh);
    for (const std::string& part : parts) {
      const size_t colon = part.find(':');
      const int axis = mesh.AxisIndex(part.substr(0, colon));
      if (axis < 0 || colon == std::string::npos) return InvalidArgument("'{}' names no mesh axis", part);
      ASSIGN_OR_RETURN(layout[axis], ParseAxisLayout(part.substr(colon + 1)));
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(Node node, std::vector<Value> outputs, bool typed) {
    if (typed) {
      for (const char* name : {"shape", "dtype"}) {
        if (node.op->FindAttribute(name) == nullptr || node.attributes.Has(name)) continue;
        if (std::string(name) == "shape") node.attributes.Set(name, outputs[0].type.shape);
        if (std::string(name) == "dtype") node.attributes.Set(name, std::string(Name(outputs[0].type.dtype)));
      }
    }
    ASSIGN_OR_RETURN(node.attributes, CompleteAttributes(*node.op, node.attributes));
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(graph_, node));
    if (types.size() != outputs.size()) {
      return InvalidArgument("{} outputs found; op '{}' has {}", outputs.size(), node.op->name, types.size());
    }
    for (size_t o = 0; o < types.size(); ++o) {
      if (typed && outputs[o].type != types[o]) {
        return InvalidArgument("output '{}' is {}{}; found {}{}", outputs[o].name, Name(types[o].dtype),
                               ToString(types[o].shape), Name(outputs[o].type.dtype), ToString(outputs[o].type.shape));
      }
      outputs[o].type = types[o];
      if (outputs[o].layout.empty()) outputs[o].layout = Replicated(graph_.mesh());
      RETURN_IF_ERROR(CheckLayout(outputs[o].layout, outputs[o].type.shape, graph_.mesh(outputs[o].layout)));
    }
    graph_.AddNode(std::move(node), outputs);
    return absl::OkStatus();
  }

  const std::string& text_;
  const OpRegistry& registry_;
  Graph graph_;
  Phase phase_ = Phase::kForward;
  std::vector<std::pair<std::string, std::string>> states_;
};

}  // namespace

absl::StatusOr<Graph> ParseText(const std::string& text, const OpRegistry& registry) {
  return TextParser(text, registry).Run();
}

}  // namespace partita
