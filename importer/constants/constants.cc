#include "importer/constants/constants.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "graph/value/node_name.h"
#include "importer/constants/evaluation.h"
#include "importer/program/node_arguments.h"
#include "importer/program/stored_elements.h"
#include "runtime/base/bf16.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// All elements lie in the storage: sizes that the file gives may be wrong.
absl::Status CheckInside(const Constant& constant) {
  if (constant.storage == nullptr || constant.strides.size() != constant.shape.size()) {
    return InvalidArgument("its sizes are not those of its operands");
  }
  int64_t first = constant.offset, last = constant.offset;
  for (size_t d = 0; d < constant.shape.size(); ++d) {
    if (constant.shape[d] == 0) return absl::OkStatus();
    const int64_t reach = (constant.shape[d] - 1) * constant.strides[d];
    (reach < 0 ? first : last) += reach;
  }
  if (first >= 0 && last < static_cast<int64_t>(constant.storage->size())) return absl::OkStatus();
  return InvalidArgument("its sizes are not those of its operands");
}

}  // namespace

int64_t AsInteger(double value) {
  constexpr double kMost = 9007199254740992;
  return value >= -kMost && value <= kMost ? static_cast<int64_t>(value) : 0;
}

double Held(double value, ScalarType type) {
  switch (type) {
    case ScalarType::kF64:
      return value;
    case ScalarType::kF32:
      return static_cast<float>(value);
    case ScalarType::kF16:
      return static_cast<float>(value);
    case ScalarType::kBF16:
      return static_cast<float>(Bf16(value));
    case ScalarType::kBool:
      return value != 0 ? 1 : 0;
    default:
      return std::trunc(value);
  }
}

Order InOrder(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> RowMajor(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::vector<int64_t> PlacesOf(const Shape& shape, const std::vector<int64_t>& strides, int64_t offset) {
  std::vector<int64_t> places;
  const int64_t elements = Elements(shape);
  places.reserve(static_cast<size_t>(elements));
  IntList at(shape.size(), 0);
  int64_t place = offset;
  for (int64_t left = elements; left > 0; --left) {
    places.push_back(place);
    for (size_t d = shape.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < shape[d]) break;
      place -= at[d] * strides[d];
      at[d] = 0;
    }
  }
  return places;
}

bool IsContiguous(const Constant& constant) {
  const std::vector<int64_t> dense = RowMajor(constant.shape);
  for (size_t d = 0; d < dense.size(); ++d) {
    if (constant.shape[d] != 1 && constant.strides[d] != dense[d]) return false;
  }
  return true;
}

Constant Dense(const TensorMeta& meta, std::vector<double> values) {
  Constant dense;
  dense.type = meta.type;
  for (const Size& size : meta.sizes) {
    dense.varies.push_back(!size.symbol.empty());
    dense.shape.push_back(size.symbol.empty() ? size.value : 1);
  }
  dense.strides = RowMajor(dense.shape);
  for (double& value : values) value = Held(value, meta.type);
  dense.storage = std::make_shared<std::vector<double>>(std::move(values));
  return dense;
}

absl::StatusOr<std::vector<double>> Broadcast(const Constant& constant, const Shape& shape) {
  bool fits = constant.shape.size() <= shape.size();
  const size_t more = fits ? shape.size() - constant.shape.size() : 0;
  for (size_t d = 0; fits && d < constant.shape.size(); ++d) {
    fits = constant.shape[d] == 1 || constant.shape[d] == shape[more + d];
  }
  if (!fits) return InvalidArgument("{} does not broadcast to {}", ToString(constant.shape), ToString(shape));
  std::vector<int64_t> strides(shape.size(), 0);
  for (size_t d = 0; d < constant.shape.size(); ++d) {
    if (constant.shape[d] != 1) strides[more + d] = constant.strides[d];
  }
  std::vector<double> values;
  for (const int64_t place : PlacesOf(shape, strides, constant.offset)) values.push_back((*constant.storage)[place]);
  return values;
}

std::vector<int64_t> Constant::places() const { return PlacesOf(shape, strides, offset); }

std::vector<double> Constant::values() const {
  std::vector<double> values;
  for (const int64_t place : places()) values.push_back((*storage)[static_cast<size_t>(place)]);
  return values;
}

Constant Constant::Permuted(const Order& order) const {
  Constant result = *this;
  for (size_t d = 0; d < order.size(); ++d) {
    const auto from = static_cast<size_t>(order[d]);
    result.shape[d] = shape[from];
    result.strides[d] = strides[from];
    result.varies[d] = varies[from];
  }
  return result;
}

absl::StatusOr<std::vector<double>> StoredValues(const ExportedProgram& program, const std::string& name,
                                                 const Order& order) {
  const StoredWeight& weight = program.weights.at(name);
  const TensorMeta& meta = weight.meta;
  const absl::StatusOr<ReadElement> read = ReaderOf(meta.type);
  if (!read.ok()) return WithContext(fmt::format("{}: weight {}", program.path, Quoted(name)), read.status());
  ASSIGN_OR_RETURN(const std::string storage, StorageOf(program.path, name, weight));
  Shape shape;
  std::vector<int64_t> strides;
  for (const int d : order) {
    shape.push_back(meta.sizes[static_cast<size_t>(d)].value);
    strides.push_back(meta.strides[static_cast<size_t>(d)]);
  }
  std::vector<double> values;
  for (const int64_t place : PlacesOf(shape, strides, meta.offset)) values.push_back((*read)(storage, place));
  return values;
}

Constants::Constants(const ExportedProgram& program, const std::vector<bool>& needed) : program_(program) {
  std::set<std::string> changed;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = program.nodes[i];
    changed.insert(OptionalTensorOf(node, IsInPlace(node.target) ? "self" : "out"));
    for (const char* const statistic : {"running_mean", "running_var"}) {
      changed.insert(OptionalTensorOf(node, statistic));
    }
  }
  for (const Input& input : program.inputs) {
    const bool stored = input.kind == InputKind::kBuffer || input.kind == InputKind::kConstant;
    if (stored && !changed.contains(input.name) && program.weights.contains(input.target)) {
      buffers_[input.name] = input.target;
    }
  }
}

const Constant* Constants::Find(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return &found->second;
  const auto buffer = buffers_.find(name);
  if (buffer == buffers_.end()) return nullptr;
  const TensorMeta& meta = program_.weights.at(buffer->second).meta;
  std::optional<std::vector<double>> values;
  if (Elements(meta.shape()) <= kMostElements) {
    absl::StatusOr<std::vector<double>> read = StoredValues(program_, buffer->second, InOrder(meta.sizes.size()));
    if (read.ok()) values = *std::move(read);
  }
  buffers_.erase(buffer);
  if (!values) return nullptr;
  return &(values_[name] = Dense(meta, *std::move(values)));
}

bool Constants::Folds(const Node& node) {
  const std::string op = OpOf(node.target);
  if (!node.target.starts_with("torch.ops.aten.") || node.outputs.empty()) return false;
  if (!Evaluation::Computes(op)) return false;
  for (const auto& [argument, value] : node.arguments) {
    if (Evaluation::ReadsShape(op, argument)) continue;
    if (const auto* const tensor = std::get_if<TensorName>(&value)) {
      if (!tensor->name.empty() && Find(tensor->name) == nullptr) return false;
    } else if (const auto* const tensors = std::get_if<TensorNames>(&value)) {
      for (const std::string& name : tensors->names) {
        if (!name.empty() && Find(name) == nullptr) return false;
      }
    }
  }
  return true;
}

void Constants::Forget(const std::string& name) {
  const Constant* const constant = Find(name);
  if (constant == nullptr) return;
  const std::shared_ptr<std::vector<double>> storage = constant->storage;
  std::erase_if(values_, [&storage](const auto& value) { return value.second.storage == storage; });
}

absl::Status Constants::Fold(const Node& node) {
  ASSIGN_OR_RETURN(std::vector<Constant> results, Evaluation(program_, *this, node).Run());
  if (results.size() != node.outputs.size()) return InvalidArgument("it has {} results", node.outputs.size());
  for (const Constant& result : results) RETURN_IF_ERROR(CheckInside(result));
  for (size_t i = 0; i < results.size(); ++i) values_[node.outputs[i]] = std::move(results[i]);
  return absl::OkStatus();
}

}  // namespace partita::torch_export
