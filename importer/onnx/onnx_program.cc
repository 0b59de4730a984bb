#include "importer/onnx/onnx_program.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/value/node_name.h"
#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"
#include "importer/onnx/model.h"
#include "importer/onnx/values.h"
#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

using torch_export::ExportedProgram;
using torch_export::TensorMeta;

std::string SourceOf(const OnnxNode& node) {
  const std::string name = !node.name.empty() ? node.name : node.outputs.empty() ? "" : node.outputs[0];
  return fmt::format("node {} ({})", Quoted(name), Printable(node.op, 80));
}

// Why no node of that op is read.
absl::Status NoLowering(const OnnxNode& node) {
  static const auto& branches = *new std::set<std::string>{"If", "Loop", "Scan", "SequenceMap"};
  const bool quantised =
      node.op.find("Quantize") != std::string::npos || node.op.starts_with("QLinear") || node.op.ends_with("Integer");
  if (!node.domain.empty()) {
    return InvalidArgument("the op is of domain {}; those of the standard are read", Quoted(node.domain));
  }
  if (branches.contains(node.op)) {
    return InvalidArgument("the model branches or loops (a graph inside a node); export a path without");
  }
  if (quantised) return InvalidArgument("the model is quantised; expected the one with floating-point weights");
  if (node.op.find("Sequence") != std::string::npos) return InvalidArgument("sequences are not read");
  return InvalidArgument("there is no translation of this op");
}

// What is declared of values, for those whose nodes cannot be read.
class Declared {
 public:
  explicit Declared(const OnnxGraph& graph) {
    for (const auto* const list : {&graph.values, &graph.outputs}) {
      for (const ValueInfo& value : *list) values_.emplace(value.name, &value);
    }
  }

  // Nothing: it is not declared, or not with all sizes.
  std::optional<Value> Find(const std::string& name, const Values& values) const {
    const auto found = values_.find(name);
    if (found == values_.end() || !found->second->has_shape) return std::nullopt;
    const absl::StatusOr<ScalarType> type = TypeOf(found->second->type);
    if (!type.ok()) return std::nullopt;
    Value value{"", *type, {}};
    for (const Dimension& dimension : found->second->dimensions) {
      const bool batch = value.sizes.empty() && values.batch() > 0;
      if (dimension.value < 1 && !batch) return std::nullopt;
      value.sizes.push_back(batch ? values.Samples(1) : Size{dimension.value});
    }
    if (!CheckedElements(ShapeOf(value.sizes)).ok()) return std::nullopt;
    return value;
  }

 private:
  std::map<std::string, const ValueInfo*> values_;
};

class ProgramMaker {
 public:
  ProgramMaker(const OnnxModel& model, ExportedProgram& program)
      : model_(model), program_(program), values_(model, program, kDefaultBatch), declared_(model.graph) {}

  absl::Status Make() {
    RETURN_IF_ERROR(values_.AddInputs());
    for (const OnnxNode& node : model_.graph.nodes) LowerNode(node);
    for (const ValueInfo& output : model_.graph.outputs) {
      const absl::StatusOr<Value> value = values_.Get(output.name);
      program_.outputs.push_back(value.ok() ? value->name : "");
    }
    return absl::OkStatus();
  }

 private:
  void LowerNode(const OnnxNode& node) {
    const size_t begin = program_.nodes.size();
    const bool follows =
        std::ranges::any_of(node.inputs, [&](const std::string& name) { return missing_.contains(name); });
    const absl::Status lowered = follows ? CheckKnown(node) : TryLower(node);
    for (size_t i = begin; i < program_.nodes.size(); ++i) program_.nodes[i].source = SourceOf(node);
    if (follows || !lowered.ok()) Refuse(node, std::string(lowered.message()));
  }

  static absl::Status CheckKnown(const OnnxNode& node) {
    constexpr const char* kFolded[] = {"Shape", "Size"};
    const bool known = node.domain.empty() &&
                       (FindLowering(node.op) != nullptr || std::ranges::find(kFolded, node.op) != std::end(kFolded));
    return known ? absl::OkStatus() : NoLowering(node);
  }

  absl::Status TryLower(const OnnxNode& node) {
    const Lower lower = node.domain.empty() ? FindLowering(node.op) : nullptr;
    Lowering lowering(node, model_.opset, values_);
    if (node.outputs.empty()) return InvalidArgument("it has no outputs");
    if (node.domain.empty()) {
      ASSIGN_OR_RETURN(const bool folded, Fold(lowering));
      if (folded) return absl::OkStatus();
    }
    if (lower == nullptr) return NoLowering(node);
    RETURN_IF_ERROR(lower(lowering));
    return lowering.CheckAsked();
  }

  // The node stays, with the reason, and what nothing needs of it does not matter. Without a reason it reads what
  // others could not give.
  void Refuse(const OnnxNode& node, std::string reason) {
    torch_export::Node refused;
    refused.target = "onnx." + Printable(node.op, 80);
    refused.source = SourceOf(node);
    refused.refusal = std::move(reason);
    torch_export::TensorNames reads;
    for (const std::string& name : node.inputs) {
      const auto found = missing_.find(name);
      if (found != missing_.end()) reads.names.push_back(found->second);
    }
    refused.arguments["reads"] = std::move(reads);
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      std::optional<Value> value = declared_.Find(name, values_);
      Value made = value ? *value : Value{};
      made.name = values_.FreeName(name);
      refused.outputs.push_back(made.name);
      missing_[name] = made.name;
      if (value) {
        TensorMeta meta;
        meta.type = made.type;
        meta.sizes = made.sizes;
        program_.tensors[made.name] = std::move(meta);
      }
      values_.Bind(name, std::move(made));
    }
    program_.nodes.push_back(std::move(refused));
  }

  const OnnxModel& model_;
  ExportedProgram& program_;
  Values values_;
  Declared declared_;
  std::map<std::string, std::string> missing_;  // values that no node gives, by name in the file
};

}  // namespace

absl::StatusOr<ExportedProgram> ReadOnnxProgram(const std::string& path, bool frozen_statistics) {
  ASSIGN_OR_RETURN(const OnnxModel model, ReadOnnxModel(path));
  ExportedProgram program;
  program.path = path;
  RETURN_IF_ERROR(WithContext(path, ProgramMaker(model, program).Make()));
  for (torch_export::Node& node : program.nodes) {
    if (frozen_statistics && node.arguments.contains("running_mean")) node.arguments["training"] = false;
  }
  return program;
}

}  // namespace partita::onnx
