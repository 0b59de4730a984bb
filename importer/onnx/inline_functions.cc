#include "importer/onnx/inline_functions.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

using FunctionKey = std::pair<std::string, std::string>;  // domain, name

constexpr size_t kMostDepth = 64;               // of calls inside calls
constexpr size_t kMostBytes = size_t{1} << 28;  // of names and attributes of all calls

size_t BytesOf(const OnnxNode& node) {
  size_t bytes = sizeof(OnnxNode) + node.name.size();
  for (const std::string& name : node.inputs) bytes += name.size();
  for (const std::string& name : node.outputs) bytes += name.size();
  for (const auto& [name, attribute] : node.attributes) {
    bytes += sizeof(Attribute) + name.size() + attribute.text.size();
    bytes += sizeof(int64_t) * (attribute.integers.size() + attribute.numbers.size());
    for (const std::string& text : attribute.texts) bytes += text.size();
    for (const Tensor& tensor : attribute.tensors) bytes += tensor.bytes.size();
  }
  return bytes;
}

class Inliner {
 public:
  explicit Inliner(const std::vector<Function>& functions) {
    for (const Function& function : functions)
      functions_.emplace(FunctionKey(function.domain, function.name), &function);
  }

  // Appends the node, or the nodes that it stands for.
  absl::Status Add(OnnxNode node, size_t depth = 0) {
    const auto found = functions_.find({node.domain, node.op});
    if (found == functions_.end()) {
      if (nodes_.size() == kMostNodes) return InvalidArgument("its functions have more than {} nodes", kMostNodes);
      nodes_.push_back(std::move(node));
      return absl::OkStatus();
    }
    const Function& function = *found->second;
    if (depth == kMostDepth) {
      return InvalidArgument("function {}: calls itself, or is more than {} calls deep", Quoted(function.name), depth);
    }
    if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
      return InvalidArgument("function {}: a node has {} inputs and {} outputs of it; expected at most {} and {}",
                             Quoted(function.name), node.inputs.size(), node.outputs.size(), function.inputs.size(),
                             function.outputs.size());
    }
    const Names names = NamesOf(node, function);
    for (const OnnxNode& inner : function.nodes) {
      OnnxNode called = Called(inner, function, node, names);
      bytes_ += BytesOf(called);
      if (calls_ > kMostNodes || bytes_ > kMostBytes) {
        return InvalidArgument("calls of its functions have more than {} nodes or {} bytes", kMostNodes, kMostBytes);
      }
      RETURN_IF_ERROR(Add(std::move(called), depth + 1));
    }
    return absl::OkStatus();
  }

  std::vector<OnnxNode> Take() { return std::move(nodes_); }

 private:
  // Of a call: by name in the function, and what all its other values begin with.
  struct Names {
    std::map<std::string, std::string> bound;
    std::string prefix;

    std::string Of(const std::string& name) const {
      const auto found = bound.find(name);
      return name.empty() ? "" : found != bound.end() ? found->second : prefix + name;
    }
  };

  Names NamesOf(const OnnxNode& call, const Function& function) {
    const std::string name = !call.name.empty() ? call.name : call.outputs.empty() ? call.op : call.outputs[0];
    Names names{{}, fmt::format("{}.{}/", Printable(name, 80), ++calls_)};
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      names.bound[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (!call.outputs[i].empty()) names.bound[function.outputs[i]] = call.outputs[i];
    }
    return names;
  }

  static OnnxNode Called(const OnnxNode& inner, const Function& function, const OnnxNode& call, const Names& names) {
    OnnxNode node = inner;
    node.name = names.prefix + inner.name;
    for (std::string& input : node.inputs) input = names.Of(input);
    for (std::string& output : node.outputs) output = names.Of(output);
    node.attributes.clear();
    for (const auto& [name, attribute] : inner.attributes) {
      if (attribute.of_function.empty()) {
        node.attributes[name] = attribute;
        continue;
      }
      const auto given = call.attributes.find(attribute.of_function);
      const auto otherwise = function.defaults.find(attribute.of_function);
      if (given != call.attributes.end()) {
        node.attributes[name] = given->second;
      } else if (otherwise != function.defaults.end()) {
        node.attributes[name] = otherwise->second;
      }  // else the node's op has its own default
    }
    return node;
  }

  std::map<FunctionKey, const Function*> functions_;
  std::vector<OnnxNode> nodes_;
  size_t calls_ = 0, bytes_ = 0;
};

}  // namespace

absl::Status InlineFunctions(OnnxModel& model) {
  if (model.functions.empty()) return absl::OkStatus();
  Inliner inliner(model.functions);
  for (OnnxNode& node : model.graph.nodes) RETURN_IF_ERROR(inliner.Add(std::move(node)));
  model.graph.nodes = inliner.Take();
  return absl::OkStatus();
}

}  // namespace partita::onnx
