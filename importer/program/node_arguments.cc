#include "importer/program/node_arguments.h"

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

struct NamesOfArgument {
  std::vector<std::string> operator()(const TensorName& tensor) const { return {tensor.name}; }
  std::vector<std::string> operator()(const TensorNames& tensors) const { return tensors.names; }
  template <typename T>
  std::vector<std::string> operator()(const T&) const {
    return {};
  }
};

// mask |= other, mask &= other, mask ^= other
bool IsInPlaceLogic(const std::string& op) { return op == "__ior__" || op == "__iand__" || op == "__ixor__"; }

}  // namespace

std::string OpOf(const std::string& target) {
  std::string op = target;
  for (const std::string prefix : {"torch.ops.aten.", "torch.ops."}) {
    if (op.starts_with(prefix)) op = op.substr(prefix.size());
  }
  op = op.substr(0, op.find('.'));
  if (IsInPlaceLogic(op)) return "__" + op.substr(3);
  if (IsInPlace(target)) op.pop_back();
  return op;
}

bool IsInPlace(const std::string& target) {
  const std::string aten = "torch.ops.aten.";
  if (!target.starts_with(aten)) return false;
  const std::string op = target.substr(aten.size(), target.find('.', aten.size()) - aten.size());
  return IsInPlaceLogic(op) || (op.ends_with('_') && !op.starts_with('_'));
}

std::vector<std::string> ReadsOf(const Node& node) {
  std::vector<std::string> reads;
  for (const auto& [name, argument] : node.arguments) {
    for (const std::string& tensor : std::visit(NamesOfArgument(), argument)) {
      if (!tensor.empty()) reads.push_back(tensor);
    }
  }
  return reads;
}

absl::StatusOr<std::string> TensorOf(const Node& node, const std::string& name) {
  std::string tensor = OptionalTensorOf(node, name);
  if (tensor.empty()) return InvalidArgument("argument {} is no tensor", Quoted(name));
  return tensor;
}

std::string OptionalTensorOf(const Node& node, const std::string& name) {
  const auto found = node.arguments.find(name);
  if (found == node.arguments.end()) return "";
  const auto* const tensor = std::get_if<TensorName>(&found->second);
  return tensor == nullptr ? "" : tensor->name;
}

absl::Status CheckFixed(const Node& node, const std::string& name) {
  const auto found = node.arguments.find(name);
  const auto* const size = found == node.arguments.end() ? nullptr : std::get_if<Size>(&found->second);
  if (size == nullptr || size->symbol.empty()) return absl::OkStatus();
  return InvalidArgument(
      "it computes with a number that varies with the batch ({}); a mean takes every batch, and an export without "
      "dynamic_shapes has the batch of its example alone",
      size->symbol);
}

bool IsNumber(const Node& node, const std::string& name) {
  const auto found = node.arguments.find(name);
  return found != node.arguments.end() &&
         (std::holds_alternative<Size>(found->second) || std::holds_alternative<double>(found->second));
}

double NumberOf(const Node& node, const std::string& name, double otherwise) {
  const auto found = node.arguments.find(name);
  if (found == node.arguments.end()) return otherwise;
  if (const auto* const number = std::get_if<double>(&found->second)) return *number;
  if (const auto* const size = std::get_if<Size>(&found->second)) return static_cast<double>(size->value);
  return otherwise;
}

int64_t IntegerOf(const Node& node, const std::string& name, int64_t otherwise) {
  const auto found = node.arguments.find(name);
  if (found == node.arguments.end()) return otherwise;
  const auto* const size = std::get_if<Size>(&found->second);
  return size == nullptr ? otherwise : size->value;
}

bool SwitchOf(const Node& node, const std::string& name, bool otherwise) {
  const auto found = node.arguments.find(name);
  if (found == node.arguments.end()) return otherwise;
  const auto* const value = std::get_if<bool>(&found->second);
  return value == nullptr ? otherwise : *value;
}

IntList IntegersOf(const Node& node, const std::string& name, const IntList& otherwise) {
  const auto found = node.arguments.find(name);
  if (found == node.arguments.end()) return otherwise;
  const auto* const integers = std::get_if<Integers>(&found->second);
  if (integers == nullptr) return otherwise;
  IntList values;
  for (const Size& size : integers->sizes) values.push_back(size.value);
  return values;
}

IntList RepeatedOf(const Node& node, const std::string& name, const IntList& otherwise, size_t count) {
  IntList values = IntegersOf(node, name, otherwise);
  if (values.empty()) values = otherwise;
  if (!values.empty() && values.size() != count) values.resize(count, values[values.size() - 1]);
  return values;
}

IntList PaddingAround(const Node& node, size_t sides) {
  const IntList given = IntegersOf(node, "padding", {});
  if (given.size() == 2 * sides) return given;
  IntList around;
  for (const int64_t padding : RepeatedOf(node, "padding", {0}, sides)) {
    around.push_back(padding);
    around.push_back(padding);
  }
  return around;
}

absl::StatusOr<int> DimensionOf(int64_t dimension, size_t rank) {
  const auto dimensions = static_cast<int64_t>(rank);
  if (dimension < -dimensions || dimension >= dimensions) {
    return InvalidArgument("dimension {} of {}", dimension, rank);
  }
  return static_cast<int>(dimension < 0 ? dimension + dimensions : dimension);
}

}  // namespace partita::torch_export
