#include "importer/onnx/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/value/node_name.h"
#include "importer/program/stored_elements.h"
#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

using torch_export::InputKind;
using torch_export::StoredWeight;
using torch_export::TensorMeta;

constexpr const char* kBatch = "batch";

// Inputs that set how an op computes, and numbers that normalize an input: no weights.
const std::set<std::string>& Settings() {
  static const auto& settings =
      *new std::set<std::string>{"Clip.1",    "Clip.2",   "Resize.1", "Resize.2",  "Upsample.1", "Pad.2",   "Pow.1",
                                 "Dropout.1", "OneHot.2", "Range.0",  "Range.1",   "Range.2",    "Where.0", "Div.1",
                                 "Sub.1",     "Less.0",   "Less.1",   "Greater.0", "Greater.1",  "Equal.0", "Equal.1",
                                 "Cast.0",    "Min.0",    "Min.1",    "Max.0",     "Max.1",      "Mod.1",   "input"};
  return settings;
}

const std::set<std::string>& Layers() {
  static const auto& layers = *new std::set<std::string>{"Conv.1",
                                                         "Conv.2",
                                                         "ConvTranspose.1",
                                                         "ConvTranspose.2",
                                                         "Gemm.1",
                                                         "Gemm.2",
                                                         "MatMul.0",
                                                         "MatMul.1",
                                                         "BatchNormalization.1",
                                                         "BatchNormalization.2",
                                                         "LayerNormalization.1",
                                                         "LayerNormalization.2",
                                                         "GroupNormalization.1",
                                                         "GroupNormalization.2",
                                                         "InstanceNormalization.1",
                                                         "InstanceNormalization.2",
                                                         "RMSNormalization.1",
                                                         "PRelu.1",
                                                         "Gather.0",
                                                         "LSTM.1",
                                                         "LSTM.2",
                                                         "LSTM.3",
                                                         "GRU.1",
                                                         "GRU.2",
                                                         "GRU.3",
                                                         "RNN.1",
                                                         "RNN.2",
                                                         "RNN.3"};
  return layers;
}

bool IsFloating(int type) { return type == kFloat || type == kDouble || type == kFloat16 || type == kBfloat16; }

// Numbers that are added to scores so that some count no more: 0 where they count, and far below elsewhere.
bool IsMask(const std::vector<double>& values) {
  constexpr double kFar = 1e4, kLow = -100;
  if (std::ranges::any_of(values, [](double value) { return !(std::abs(value) < kFar); })) return true;
  const auto low = std::ranges::min_element(values);
  return low != values.end() && *low <= kLow &&
         std::ranges::all_of(values, [&](double value) { return value == 0 || value == *low; });
}

StoredWeight StoredOf(const Tensor& tensor, ScalarType type, bool persistent) {
  StoredWeight weight;
  weight.meta.type = type;
  int64_t stride = 1;
  for (size_t d = tensor.dims.size(); d-- > 0;) {
    weight.meta.sizes.insert(weight.meta.sizes.begin(), Size{tensor.dims[d]});
    weight.meta.strides.insert(weight.meta.strides.begin(), stride);
    stride *= tensor.dims[d];
  }
  weight.is_persistent = persistent;
  weight.member = {tensor.begin, tensor.size, 0};
  weight.file = tensor.file;
  if (tensor.file.empty()) weight.bytes = std::make_shared<const std::string>(tensor.bytes);
  return weight;
}

absl::StatusOr<std::vector<double>> ElementsOf(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const ScalarType type, TypeOf(tensor.type));
  const StoredWeight weight = StoredOf(tensor, type, false);
  return torch_export::ElementsOf(tensor.file, tensor.name, weight);
}

int64_t CountOf(const Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.dims) count *= size;  // checked when it was read
  return count;
}

}  // namespace

absl::StatusOr<ScalarType> TypeOf(int type) {
  switch (type) {
    case kFloat:
      return ScalarType::kF32;
    case kDouble:
      return ScalarType::kF64;
    case kFloat16:
      return ScalarType::kF16;
    case kBfloat16:
      return ScalarType::kBF16;
    case kInt64:
      return ScalarType::kI64;
    case kInt32:
      return ScalarType::kI32;
    case kInt16:
      return ScalarType::kI16;
    case kInt8:
      return ScalarType::kI8;
    case kUint8:
      return ScalarType::kU8;
    case kBool:
      return ScalarType::kBool;
    default:
      return InvalidArgument("its element type is {}, which is not read", NameOfType(type));
  }
}

Number NumberOf(const Size& size) { return {static_cast<double>(size.value), !size.symbol.empty()}; }

Values::Values(const OnnxModel& model, torch_export::ExportedProgram& program, int64_t batch)
    : model_(model), program_(program), batch_(batch) {
  std::set<std::string> inputs;
  for (const Tensor& tensor : model.graph.initializers) initializers_.emplace(tensor.name, &tensor);
  bool same = true, open = false;
  for (const ValueInfo& input : model.graph.inputs) {
    if (initializers_.contains(input.name)) continue;
    inputs.insert(input.name);
    if (input.dimensions.empty()) continue;
    const int64_t samples = std::max<int64_t>(0, input.dimensions[0].value);
    open |= samples == 0;
    same &= written_ == 0 || samples == 0 || samples == written_;
    if (samples > 0) written_ = samples;
  }
  if (open || !same) written_ = 0;
  if (!same && !open) batch_ = 0;  // each input has its own first size: there are no samples
  if (written_ > 1) batch_ = written_;
  for (const ValueInfo& output : model.graph.outputs) read_.insert(output.name);
  for (const OnnxNode& node : model.graph.nodes) {
    const bool scales = node.op == "Mul" || node.op == "Add";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string& name = node.inputs[i];
      if (!name.empty()) read_.insert(name);
      if (!initializers_.contains(name)) continue;
      const bool beside_input = scales && node.inputs.size() == 2 && inputs.contains(node.inputs[1 - i]);
      readers_[name].insert(beside_input ? "input" : fmt::format("{}.{}", node.op, i));
    }
  }
}

Size Values::SizeOf(const Number& number) const {
  const auto value = static_cast<int64_t>(number.value);
  if (!number.of_batch) return {value};
  const int64_t each = batch_ == 0 ? 0 : value / batch_;
  if (each == 1) return {value, kBatch};
  return {value, fmt::format("Mul(Integer({}), {})", each, kBatch)};
}

absl::Status Values::AddInputs() {
  for (const ValueInfo& input : model_.graph.inputs) {
    if (initializers_.contains(input.name)) continue;
    const auto add = [&]() -> absl::Status {
      if (input.type == kUndefined || !input.has_shape) {
        return InvalidArgument("it is no tensor of known dimensions");
      }
      ASSIGN_OR_RETURN(const ScalarType type, TypeOf(input.type));
      TensorMeta meta;
      meta.type = type;
      IntList shape;
      for (size_t d = 0; d < input.dimensions.size(); ++d) {
        const Dimension& dimension = input.dimensions[d];
        if (d == 0 && batch_ > 0) {
          meta.sizes.push_back(Samples(1));
        } else if (dimension.value > 0) {
          meta.sizes.push_back({dimension.value});
        } else {
          return InvalidArgument(
              "its dimension {}{} has no size; expected a fixed one for each dimension but the first, the batch: set "
              "it "
              "in the file (onnxruntime.tools.make_dynamic_shape_fixed), or export with it",
              d, dimension.parameter.empty() ? "" : " (" + Printable(dimension.parameter, 40) + ")");
        }
        shape.push_back(meta.sizes.back().value);
      }
      RETURN_IF_ERROR(CheckedElements(shape).status());
      const std::string name = FreeName(input.name);
      program_.inputs.push_back({InputKind::kUser, name, ""});
      program_.tensors[name] = meta;
      values_[input.name] = {name, type, meta.sizes};
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(WithContext("input " + Quoted(input.name), add()));
  }
  return absl::OkStatus();
}

std::string Values::FreeName(const std::string& name) {
  std::string legal = name.substr(0, 200);
  for (char& c : legal) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
    if (!kept) c = '_';
  }
  if (legal.empty()) legal = "value";
  std::string free = legal;
  for (int i = 2; !names_.insert(free).second; ++i) free = fmt::format("{}.{}", legal, i);
  return free;
}

// A parameter unless all that reads it reads it as something else.
Use Values::UseOf(const Tensor& tensor) const {
  const auto found = readers_.find(tensor.name);
  if (found == readers_.end() || !IsFloating(tensor.type)) return Use::kConstant;
  const std::set<std::string>& readers = found->second;
  if (readers.contains("BatchNormalization.3") || readers.contains("BatchNormalization.4")) return Use::kStatistic;
  const auto is_in = [](const std::set<std::string>& set) {
    return [&set](const std::string& reader) { return set.contains(reader); };
  };
  if (std::ranges::any_of(readers, is_in(Layers()))) return Use::kParameter;
  // Numbers of the graph have names without a module in front.
  const bool named = tensor.name.find('.') != std::string::npos;
  if (std::ranges::all_of(readers, is_in(Settings())) || (CountOf(tensor) < 2 && !named)) return Use::kConstant;
  const bool added = readers.contains("Add.0") || readers.contains("Add.1");
  if (added && CountOf(tensor) <= int64_t{1} << 24) {
    const absl::StatusOr<std::vector<double>> elements = ElementsOf(tensor);
    if (elements.ok() && IsMask(*elements)) return Use::kConstant;
  }
  return Use::kParameter;
}

absl::StatusOr<Value> Values::AddStored(const std::string& name, const Tensor& tensor, Use use, bool persistent) {
  ASSIGN_OR_RETURN(const ScalarType type, TypeOf(tensor.type));
  if (CountOf(tensor) == 0) return InvalidArgument("it has no elements");
  const std::string free = FreeName(name);
  StoredWeight weight = StoredOf(tensor, type, persistent);
  const InputKind kind = use == Use::kParameter   ? InputKind::kParameter
                         : use == Use::kStatistic ? InputKind::kBuffer
                                                  : InputKind::kConstant;
  program_.inputs.push_back({kind, free, free});
  program_.tensors[free] = weight.meta;
  Value value{free, type, weight.meta.sizes};
  program_.weights[free] = std::move(weight);
  return value;
}

absl::Status Values::Bind(const std::string& name, const Tensor& constant) {
  RETURN_IF_ERROR(TypeOf(constant.type).status());
  constants_[name] = constant;
  constants_[name].name = name;
  return absl::OkStatus();
}

absl::StatusOr<Value> Values::AddConstant(const std::string& name, const Known& known) {
  Tensor tensor;
  tensor.type = torch_export::IsFloat(known.type) ? kDouble : kInt64;
  tensor.dims = known.shape;
  for (const Number& number : known.numbers) {
    if (number.of_batch) return InvalidArgument("it computes with how many samples there are");
    const double value = number.value;
    const auto integer = static_cast<int64_t>(value);
    tensor.bytes.append(
        tensor.type == kDouble ? reinterpret_cast<const char*>(&value) : reinterpret_cast<const char*>(&integer),
        sizeof(double));
  }
  ASSIGN_OR_RETURN(Value value, AddStored(name, tensor, Use::kConstant, false));
  // Its elements have 8 bytes each; its type is another.
  if (known.type == value.type) return value;
  Value typed{FreeName(name), known.type, value.sizes};
  program_.nodes.push_back({"torch.ops.aten._to_copy.default",
                            "",
                            {{"self", torch_export::TensorName{value.name}}, {"dtype", known.type}},
                            {typed.name}});
  TensorMeta meta;
  meta.type = known.type;
  meta.sizes = typed.sizes;
  program_.tensors[typed.name] = meta;
  return typed;
}

absl::StatusOr<Value> Values::Get(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  if (const auto known = known_.find(name); known != known_.end()) {
    ASSIGN_OR_RETURN(Value value, AddConstant(name, known->second));
    return values_[name] = std::move(value);
  }
  const auto initializer = initializers_.find(name);
  const auto constant = constants_.find(name);
  if (initializer == initializers_.end() && constant == constants_.end()) {
    return InvalidArgument("nothing gives its input {}", Quoted(name));
  }
  const bool stored = initializer != initializers_.end();
  const Tensor& tensor = stored ? *initializer->second : constant->second;
  absl::StatusOr<Value> value = AddStored(name, tensor, stored ? UseOf(tensor) : Use::kConstant, stored);
  if (!value.ok()) return WithContext("tensor " + Quoted(name), value.status());
  return values_[name] = *std::move(value);
}

std::optional<Known> Values::Elements(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  const auto initializer = initializers_.find(name);
  const auto constant = constants_.find(name);
  if (initializer == initializers_.end() && constant == constants_.end()) return std::nullopt;
  const Tensor& tensor = initializer != initializers_.end() ? *initializer->second : constant->second;
  if (CountOf(tensor) > kMostKnown) return std::nullopt;
  const absl::StatusOr<ScalarType> type = TypeOf(tensor.type);
  const absl::StatusOr<std::vector<double>> elements = ElementsOf(tensor);
  if (!type.ok() || !elements.ok()) return std::nullopt;
  Known known{*type, tensor.dims, {}};
  for (const double element : *elements) known.numbers.push_back({element});
  return known;
}

std::optional<Known> Values::Find(const std::string& name) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  std::optional<Known> known = Elements(name);
  if (!known) return known;
  // Floats of initializers are weights.
  const auto initializer = initializers_.find(name);
  const bool floats = torch_export::IsFloat(known->type);
  const bool weight = floats && initializer != initializers_.end() && UseOf(*initializer->second) != Use::kConstant;
  constexpr size_t kMostFloats = 16;
  if (weight || (floats && known->numbers.size() > kMostFloats)) return std::nullopt;
  return known_[name] = *std::move(known);
}

}  // namespace partita::onnx
