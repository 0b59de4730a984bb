#include "importer/saved_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "graph/value/node_name.h"
#include "importer/tied_weights.h"
#include "runtime/base/bf16.h"
#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using namespace torch_export;

template <typename T>
void Append(double value, std::string& bytes) {
  const T element = static_cast<T>(value);
  bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
}

void AppendAs(double value, DType type, std::string& bytes) {
  if (type == DType::kF64) {
    Append<double>(value, bytes);
  } else if (type == DType::kI32) {
    Append<int32_t>(value, bytes);
  } else {
    Append<float>(value, bytes);
  }
}

// The bits of the nearest half-precision number, the even one of two equally near.
uint16_t HalfBits(double value) {
  constexpr int kFraction = 10, kLeastExponent = -14, kBias = 15;
  const double size = std::abs(value);
  const int exponent = size < std::ldexp(1, kLeastExponent) ? kLeastExponent : std::ilogb(size);
  // 2^kFraction to twice that, whose first bit adds 1 to the exponent; or less, of a number below the least.
  const auto fraction = static_cast<int>(std::nearbyint(std::ldexp(size, kFraction - exponent)));
  const int bits = ((exponent + kBias - 1) << kFraction) + fraction;
  return static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) | bits);
}

// As a file of another program has it. kInvalidArgument: the type has no number of that size.
absl::Status AppendStored(double value, ScalarType type, std::string& bytes) {
  if (type == ScalarType::kF16) {
    constexpr double kTooLarge = 65520;  // the half between the largest number and what would follow
    if (!(std::abs(value) < kTooLarge)) return InvalidArgument("{} is no float16; expected less than 65520", value);
    const uint16_t bits = HalfBits(value);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  } else if (type == ScalarType::kBF16) {
    const Bf16 element(value);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  } else {
    AppendAs(value, type == ScalarType::kF64 ? DType::kF64 : DType::kF32, bytes);
  }
  return absl::OkStatus();
}

// In PyTorch's order, of a tensor that lies in the state's: the state's own, or one of its slots.
absl::StatusOr<std::vector<double>> TrainedValues(const SafetensorsFile& trained, const ImportedState& state,
                                                  const Shape& shape, const std::string& slot = "") {
  const std::string name = state.name + slot;
  const StoredTensor* const tensor = trained.Find(name);
  if (tensor == nullptr) return InvalidArgument("{}: has no tensor {}", trained.path(), Quoted(name));
  std::vector<int64_t> lying;
  for (const int d : state.order) lying.push_back(shape[static_cast<size_t>(d)]);
  if (lying.empty() && tensor->shape.size() == 1) lying = {1};  // a parameter without dimensions
  if (tensor->shape != lying) {
    return InvalidArgument("{}: tensor {}: found [{}], needed is [{}]", trained.path(), Quoted(name),
                           fmt::join(tensor->shape, ","), fmt::join(lying, ","));
  }
  const std::span<const std::byte> bytes = trained.Bytes(*tensor);
  const bool doubles = tensor->type == StoredTypeOf(DType::kF64);
  if (!doubles && tensor->type != StoredTypeOf(DType::kF32)) {
    return InvalidArgument("{}: tensor {}: is of type {}; expected F32 or F64", trained.path(), Quoted(name),
                           tensor->type->name);
  }
  const std::vector<int64_t> strides = RowMajor(Shape(lying.begin(), lying.end()));
  std::vector<int64_t> own(shape.size());
  for (size_t j = 0; j < state.order.size(); ++j) own[static_cast<size_t>(state.order[j])] = strides[j];
  std::vector<double> values;
  for (const int64_t place : PlacesOf(shape, own, 0)) {
    if (doubles) {
      double value = 0;
      std::memcpy(&value, bytes.data() + place * static_cast<int64_t>(sizeof(double)), sizeof(double));
      values.push_back(value);
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + place * static_cast<int64_t>(sizeof(float)), sizeof(float));
      values.push_back(value);
    }
  }
  return values;
}

// What torch.optim calls a slot. Those of Adam and of RMSprop have the same names here; only RMSprop's has no mean, or
// one beside a momentum.
std::string NameOfSlot(const std::string& slot, bool of_rmsprop) {
  if (slot == "momentum") return "momentum_buffer";
  if (slot == "accumulator") return "sum";
  if (slot == "mean") return of_rmsprop ? "grad_avg" : "exp_avg";
  return of_rmsprop ? "square_avg" : "exp_avg_sq";
}

// Tensors for a file, with their bytes.
class Tensors {
 public:
  void Add(const std::string& name, DType type, const Shape& shape, const std::vector<double>& values) {
    std::string& bytes = bytes_.emplace_back();
    for (const double value : values) AppendAs(value, type, bytes);
    tensors_.push_back(
        {name, type, {shape.begin(), shape.end()}, std::as_bytes(std::span(bytes.data(), bytes.size()))});
  }
  absl::Status Save(const std::string& path) const { return SaveSafetensors(path, tensors_, {}); }
  bool empty() const { return tensors_.empty(); }

 private:
  std::deque<std::string> bytes_;  // whose places do not change
  std::vector<NamedTensor> tensors_;
};

// `bytes` are those of the tensors.
absl::StatusOr<std::vector<NamedTensor>> AllWeights(const ImportedModel& imported, std::optional<DType> floats,
                                                    std::deque<std::string>& bytes) {
  const Graph& graph = imported.model.graph;
  const bool has_doubles = std::ranges::any_of(
      imported.program.weights, [](const auto& weight) { return weight.second.meta.type == ScalarType::kF64; });
  std::vector<NamedTensor> tensors;
  for (const ImportedState& state : imported.states) {
    const TensorType& type = graph.type(graph.Find(state.name));
    const bool is_double = state.values.empty()
                               ? imported.program.weights.at(state.name).meta.type == ScalarType::kF64
                               : has_doubles && IsFloating(type.dtype);  // constants go with the others
    const DType as_given = is_double ? DType::kF64 : type.dtype;
    const DType stored = floats && IsFloating(type.dtype) ? *floats : as_given;
    ASSIGN_OR_RETURN(std::string one, ReadWeight(imported, state, stored));
    bytes.push_back(std::move(one));
    tensors.push_back({state.name,
                       stored,
                       {type.shape.begin(), type.shape.end()},
                       std::as_bytes(std::span(bytes.back().data(), bytes.back().size()))});
  }
  return tensors;
}

}  // namespace

absl::Status SaveWeights(const ImportedModel& imported, const std::string& path, std::optional<DType> floats) {
  std::deque<std::string> bytes;
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, AllWeights(imported, floats, bytes));
  return SaveSafetensors(path, tensors, {});
}

absl::StatusOr<SafetensorsFile> WeightsOf(const ImportedModel& imported) {
  std::deque<std::string> bytes;
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, AllWeights(imported, std::nullopt, bytes));
  ASSIGN_OR_RETURN(const EncodedFile encoded, EncodeSafetensors(imported.program.path, tensors, {}));
  std::string file = encoded.head;
  for (const std::span<const std::byte> piece : encoded.tensors) {
    file.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return SafetensorsFile::Parse(imported.program.path, std::move(file));
}

absl::Status SaveForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path) {
  const ExportedProgram& program = imported.program;
  const std::map<std::string, const ImportedState*> states = StatesByName(imported);
  Tensors tensors;
  for (const auto& [name, weight] : program.weights) {
    if (!weight.is_persistent) continue;
    const std::string* const used = UsedName(program, weight, states);
    const bool floats = IsFloat(weight.meta.type);
    const DType stored = !floats ? DType::kI32 : weight.meta.type == ScalarType::kF64 ? DType::kF64 : DType::kF32;
    std::vector<double> values;
    if (used == nullptr) {
      ASSIGN_OR_RETURN(values, StoredValues(program, name, InOrder(weight.meta.sizes.size())));
    } else {
      ASSIGN_OR_RETURN(values, TrainedValues(trained, *states.at(*used), weight.meta.shape()));
    }
    tensors.Add(name, stored, weight.meta.shape(), values);
  }
  return tensors.Save(path);
}

absl::Status SaveForOnnx(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path) {
  const ExportedProgram& program = imported.program;
  const std::map<std::string, const ImportedState*> states = StatesByName(imported);
  std::map<int64_t, std::string> replaced;  // by place in the file
  for (const auto& [name, weight] : program.weights) {
    const auto state = states.find(name);
    if (!weight.is_persistent || !IsFloat(weight.meta.type) || state == states.end()) continue;
    if (weight.file != program.path) {
      return InvalidArgument(
          "{}: tensor {}: it is not among the bytes of the file; expected all weights in one file "
          "(onnx.save with save_as_external_data=False)",
          program.path, Quoted(name));
    }
    ASSIGN_OR_RETURN(const std::vector<double> values, TrainedValues(trained, *state->second, weight.meta.shape()));
    std::string& bytes = replaced[weight.member.begin];
    for (const double value : values) {
      const absl::Status appended = AppendStored(value, weight.meta.type, bytes);
      if (!appended.ok()) return WithContext(fmt::format("{}: tensor {}", trained.path(), Quoted(name)), appended);
    }
    CHECK(static_cast<int64_t>(bytes.size()) == weight.member.size);
  }
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(program.path));
  return WriteFileAtomically(path, [&](const WriteBytes& write) -> absl::Status {
    const auto copy = [&](int64_t count) -> absl::Status {
      constexpr int64_t kPiece = 1 << 20;
      for (std::string piece; count > 0; count -= static_cast<int64_t>(piece.size())) {
        piece.clear();
        RETURN_IF_ERROR(file.Append(std::min(count, kPiece), piece));
        RETURN_IF_ERROR(write(piece));
      }
      return absl::OkStatus();
    };
    for (const auto& [begin, bytes] : replaced) {
      RETURN_IF_ERROR(copy(begin - (file.size() - file.rest())));
      RETURN_IF_ERROR(write(bytes));
      RETURN_IF_ERROR(file.Skip(static_cast<int64_t>(bytes.size())));
    }
    return copy(file.rest());
  });
}

absl::Status SaveOptimizerForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained,
                                     const std::string& path) {
  constexpr const char* kSlots[] = {"momentum", "accumulator", "mean", "mean_square"};
  const std::map<std::string, const ImportedState*> states = StatesByName(imported);
  Tensors tensors;
  for (const auto& [name, weight] : imported.program.weights) {
    const std::string* const used = UsedName(imported.program, weight, states);
    if (used == nullptr) continue;
    const auto has = [&](const std::string& slot) { return trained.Find(*used + "@" + slot) != nullptr; };
    const bool of_rmsprop = has("mean_square") && (has("momentum") || !has("mean"));
    const DType stored = weight.meta.type == ScalarType::kF64 ? DType::kF64 : DType::kF32;
    for (const char* const slot : kSlots) {
      if (!has(slot)) continue;
      const Shape shape = weight.meta.shape();
      ASSIGN_OR_RETURN(const std::vector<double> values,
                       TrainedValues(trained, *states.at(*used), shape, std::string("@") + slot));
      tensors.Add(name + "." + NameOfSlot(slot, of_rmsprop), stored, shape, values);
    }
  }
  if (tensors.empty())
    return InvalidArgument("{}: has no slots of an optimizer for parameters of {}", trained.path(),
                           imported.program.path);
  const StoredTensor* const iteration = trained.Find("@iteration");
  if (iteration == nullptr || iteration->type != StoredTypeOf(DType::kI32)) {
    return InvalidArgument("{}: has no number of steps", trained.path());
  }
  int32_t steps = 0;
  std::memcpy(&steps, trained.Bytes(*iteration).data(), sizeof(steps));
  tensors.Add("step", DType::kF32, {}, {static_cast<double>(steps)});
  return tensors.Save(path);
}

absl::StatusOr<std::string> ReadWeight(const ImportedModel& imported, const ImportedState& state, DType type) {
  std::vector<double> values = state.values;
  if (values.empty()) {
    CHECK(imported.program.weights.contains(state.name));
    ASSIGN_OR_RETURN(values, StoredValues(imported.program, state.name, state.order));
  }
  std::string bytes;
  bytes.reserve(values.size() * static_cast<size_t>(SizeOf(type)));
  for (const double value : values) AppendAs(value, type, bytes);
  return bytes;
}

}  // namespace partita
