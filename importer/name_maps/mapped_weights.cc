#include "importer/name_maps/mapped_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "graph/ir/generated_name.h"
#include "graph/ir/op_definition.h"
#include "graph/value/pattern.h"
#include "runtime/base/bf16.h"
#include "runtime/base/f16.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostListed = 8;  // of one kind, in an error

using ReadNumber = double (*)(const std::byte* bytes, int64_t at);

template <typename T>
double NumberAt(const std::byte* bytes, int64_t at) {
  T value;
  std::memcpy(&value, bytes + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<double>(value);
}

double HalfAt(const std::byte* bytes, int64_t at) {
  F16 value;
  std::memcpy(&value, bytes + at * static_cast<int64_t>(sizeof(value)), sizeof(value));
  return static_cast<double>(static_cast<float>(value));
}

// Null: of no type that is read.
ReadNumber ReaderOf(const StoredType& type) {
  static const auto& readers = *new std::map<std::string_view, ReadNumber>{
      {"F16", HalfAt},           {"BF16", NumberAt<Bf16>},   {"F32", NumberAt<float>},
      {"F64", NumberAt<double>}, {"I32", NumberAt<int32_t>}, {"I64", NumberAt<int64_t>},
      {"U8", NumberAt<uint8_t>}};
  const auto found = readers.find(type.name);
  return found == readers.end() ? nullptr : found->second;
}

template <typename T>
void PutAs(double value, std::byte* to, int64_t at) {
  const T number = static_cast<T>(value);
  std::memcpy(to + at * static_cast<int64_t>(sizeof(T)), &number, sizeof(T));
}

void Put(double value, DType type, std::byte* to, int64_t at) {
  switch (type) {
    case DType::kF64:
      return PutAs<double>(value, to, at);
    case DType::kI32:
      return PutAs<int32_t>(value, to, at);
    case DType::kU8:
      return PutAs<uint8_t>(value, to, at);
    default:
      return PutAs<float>(value, to, at);
  }
}

std::map<std::string, TensorType> StatesOf(const Graph& graph) {
  std::map<std::string, TensorType> states;
  for (const State& state : graph.states()) {
    const std::string& name = graph.value(state.value).name;
    if (!IsGenerated(name)) states[name] = graph.type(state.value);
  }
  return states;
}

// Numbers that the graph itself says and training leaves as they are, such as T5's rows of distances: no file of
// another program has them.
std::set<std::string> TablesOf(const Graph& graph) {
  std::set<std::string> tables;
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    const Node& node = graph.node(value.producer);
    if (node.op->role == Role::kState && node.attributes.String("initializer") == "values") tables.insert(value.name);
  }
  return tables;
}

bool MatchesOne(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return MatchesPattern(pattern, name); });
}

std::string Listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostListed);
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

bool HasSameElements(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (a == b) return true;
  const auto is_one = [](int64_t size) { return size == 1; };
  return std::ranges::all_of(a, is_one) && std::ranges::all_of(b, is_one);  // [] and [1]
}

// Tensors in memory for a file.
class Tensors {
 public:
  std::byte* Add(const std::string& name, DType type, const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    std::vector<std::byte>& bytes = bytes_.emplace_back(static_cast<size_t>(elements * SizeOf(type)));
    tensors_.push_back({name, type, shape, bytes});
    return bytes.data();
  }
  void Add(const NamedTensor& tensor) { tensors_.push_back(tensor); }
  std::span<const NamedTensor> all() const { return tensors_; }

 private:
  std::deque<std::vector<std::byte>> bytes_;  // whose places do not change
  std::vector<NamedTensor> tensors_;
};

class Taking {
 public:
  Taking(const SafetensorsFile& file, const Graph& graph, const NameMap& map, const MappingOptions& options)
      : file_(file), states_(StatesOf(graph)), tables_(TablesOf(graph)), map_(map), options_(options) {}

  absl::StatusOr<MappedWeights> Run() {
    for (const auto& [name, type] : states_) {
      const absl::Status taken = Take(name, type);
      if (!taken.ok()) return WithContext(file_.path(), taken);
    }
    FindLeft();
    RETURN_IF_ERROR(CheckAllFit());
    ASSIGN_OR_RETURN(const EncodedFile encoded, EncodeSafetensors(file_.path(), tensors_.all(), {}));
    std::string bytes = encoded.head;
    for (const std::span<const std::byte> piece : encoded.tensors) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    ASSIGN_OR_RETURN(SafetensorsFile states, SafetensorsFile::Parse(file_.path(), std::move(bytes)));
    return MappedWeights{std::move(states),
                         static_cast<int64_t>(taken_.size()),
                         static_cast<int64_t>(file_.tensors().size()),
                         std::move(kept_),
                         std::move(left_),
                         std::move(missing_)};
  }

 private:
  const StoredTensor* FindTensor(const std::string& name) const {
    const StoredTensor* const own = file_.Find(name);
    const std::string& prefix = map_.optional_prefix();
    if (own != nullptr || prefix.empty() || !name.starts_with(prefix)) return own;
    return file_.Find(name.substr(prefix.size()));
  }

  DType TypeOf(const TensorType& state) const { return state.dtype == DType::kF32 ? options_.floats : state.dtype; }

  absl::Status Take(const std::string& name, const TensorType& type) {
    if (options_.own.contains(name) || tables_.contains(name)) {
      KeepOwn(name, type);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::optional<ForeignTensor> foreign,
                     map_.Find(name, [&](const std::string& state) { return states_.contains(state); }));
    if (!foreign) return Keep(name, type, "the map does not name it");
    const StoredTensor* tensor = FindTensor(foreign->name);
    for (const std::string& copy : foreign->copies) {
      const StoredTensor* const other = FindTensor(copy);
      if (other != nullptr) used_.insert(other->name);
      if (tensor == nullptr) tensor = other;
    }
    if (tensor == nullptr) return Keep(name, type, fmt::format("{} is missing", Printable(foreign->name)));
    used_.insert(tensor->name);
    const absl::StatusOr<std::vector<int64_t>> shape = foreign->order.TensorShape(type.shape);
    if (!shape.ok()) return WithContext(fmt::format("state {}", Printable(name)), shape.status());
    if (!HasSameElements(tensor->shape, *shape)) {
      return Keep(name, type,
                  fmt::format("{} is [{}], needed is [{}]", Printable(tensor->name), fmt::join(tensor->shape, ","),
                              fmt::join(*shape, ",")));
    }
    const ReadNumber read = ReaderOf(*tensor->type);
    if (read == nullptr) {
      return InvalidArgument("tensor {}: is of type {}; expected F16, BF16, F32, F64, I32, I64 or U8",
                             Printable(tensor->name), std::string(tensor->type->name));
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, foreign->order.Places(type.shape));
    taken_.insert(tensor->name);
    const DType made = TypeOf(type);
    const std::byte* const from = file_.Bytes(*tensor).data();
    std::byte* const to = tensors_.Add(name, made, {type.shape.begin(), type.shape.end()});
    for (size_t i = 0; i < places.size(); ++i) Put(read(from, places[i]), made, to, static_cast<int64_t>(i));
    return absl::OkStatus();
  }

  absl::Status Keep(const std::string& name, const TensorType& type, const std::string& why) {
    (MatchesOne(options_.partial, name) ? kept_ : unfit_).push_back(fmt::format("{} ({})", name, why));
    KeepOwn(name, type);
    return absl::OkStatus();
  }

  // The state keeps what it begins with: what `rest` has, or else its initial values.
  void KeepOwn(const std::string& name, const TensorType& type) {
    const StoredTensor* const own = options_.rest == nullptr ? nullptr : options_.rest->Find(name);
    if (own == nullptr) {
      missing_.insert(name);
      return;
    }
    const std::byte* const from = options_.rest->Bytes(*own).data();
    std::byte* const to = tensors_.Add(name, TypeOf(type), own->shape);
    const ReadNumber read = ReaderOf(*own->type);
    for (int64_t i = 0; i < Elements(type.shape); ++i) Put(read(from, i), TypeOf(type), to, i);
  }

  void FindLeft() {
    for (const StoredTensor& tensor : file_.tensors()) {
      if (used_.contains(tensor.name) || IsGenerated(tensor.name) || map_.Ignores(tensor.name)) continue;
      (MatchesOne(options_.partial, tensor.name) ? left_ : unused_).push_back(tensor.name);
    }
  }

  absl::Status CheckAllFit() const {
    if (unfit_.empty() && unused_.empty()) return absl::OkStatus();
    std::string found;
    if (!unfit_.empty())
      found = fmt::format("{} of {} states do not fit: {}", unfit_.size(), states_.size(), Listed(unfit_));
    if (!unused_.empty()) {
      found += fmt::format("{}{} of {} tensors are none of the graph's: {}", found.empty() ? "" : "; ", unused_.size(),
                           file_.tensors().size(), Listed(unused_));
    }
    return InvalidArgument("{}: {}; --load-partial=PATTERN,... takes what fits of those that match", file_.path(),
                           found);
  }

  const SafetensorsFile& file_;
  const std::map<std::string, TensorType> states_;
  const std::set<std::string> tables_;
  const NameMap& map_;
  const MappingOptions& options_;
  Tensors tensors_;
  std::set<std::string, std::less<>> used_, taken_;
  std::vector<std::string> kept_, left_, unfit_, unused_;
  std::set<std::string> missing_;
};

// A tensor that several states may fill.
struct Filled {
  std::vector<int64_t> shape;
  std::byte* bytes = nullptr;
  int64_t elements = 0, filled = 0;
  DType type = DType::kF32;
  std::set<int64_t> begins = {};  // of its parts
};

}  // namespace

absl::StatusOr<MappedWeights> TakeWeights(const SafetensorsFile& file, const Graph& graph, const NameMap& map,
                                          const MappingOptions& options) {
  return Taking(file, graph, map, options).Run();
}

absl::Status SaveUnderMap(const SafetensorsFile& trained, const Graph& graph, const NameMap& map,
                          const std::string& path, const std::vector<std::string>& partial) {
  const std::map<std::string, TensorType> states = StatesOf(graph);
  const std::set<std::string> tables = TablesOf(graph);
  Tensors tensors;
  std::map<std::string, Filled> made;
  std::vector<std::pair<std::string, std::string>> copies;  // of a tensor, and its name
  for (const auto& [name, type] : states) {
    if (tables.contains(name)) continue;
    ASSIGN_OR_RETURN(const std::optional<ForeignTensor> foreign,
                     map.Find(name, [&](const std::string& state) { return states.contains(state); }));
    const StoredTensor* const own = trained.Find(name);
    if ((!foreign || own == nullptr) && MatchesOne(partial, name)) continue;
    if (!foreign) return InvalidArgument("{}: state {}: the map does not name it", trained.path(), Printable(name));
    if (own == nullptr) return InvalidArgument("{}: has no tensor {}", trained.path(), Printable(name));
    const DType stored = own->type == StoredTypeOf(DType::kF64)   ? DType::kF64
                         : own->type == StoredTypeOf(DType::kI32) ? DType::kI32
                                                                  : DType::kF32;
    ASSIGN_OR_RETURN(const std::span<const std::byte> from, trained.Get(name, stored, type.shape));
    ASSIGN_OR_RETURN(const std::vector<int64_t> shape, foreign->order.TensorShape(type.shape));
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, foreign->order.Places(type.shape));
    Filled& filled = made[foreign->name];
    if (filled.bytes == nullptr) {
      filled = {shape, tensors.Add(foreign->name, stored, shape), 1, 0, stored};
      for (const int64_t size : shape) filled.elements *= size;
      for (const std::string& copy : foreign->copies) copies.emplace_back(foreign->name, copy);
    } else if (filled.shape != shape || filled.type != stored) {
      return InvalidArgument("{}: state {}: tensor {} has another shape or type by an earlier state", trained.path(),
                             Printable(name), Printable(foreign->name));
    }
    if (!places.empty() && !filled.begins.insert(places[0]).second) {
      return InvalidArgument("{}: state {}: another state is the same part of tensor {}", trained.path(),
                             Printable(name), Printable(foreign->name));
    }
    const ReadNumber read = ReaderOf(*own->type);
    for (size_t i = 0; i < places.size(); ++i) {
      Put(read(from.data(), static_cast<int64_t>(i)), stored, filled.bytes, places[i]);
    }
    filled.filled += static_cast<int64_t>(places.size());
  }
  for (const auto& [name, filled] : made) {
    if (filled.filled == filled.elements) continue;
    return InvalidArgument("{}: tensor {}: the graph has {} of its {} elements", trained.path(), Printable(name),
                           filled.filled, filled.elements);
  }
  for (const auto& [name, copy] : copies) {
    const Filled& filled = made[name];
    const auto size = static_cast<size_t>(filled.elements * SizeOf(filled.type));
    tensors.Add({copy, filled.type, filled.shape, std::span<const std::byte>(filled.bytes, size)});
  }
  return SaveSafetensors(path, tensors.all(), {});
}

bool HasNamesOf(const SafetensorsFile& file, const Graph& graph) {
  const std::map<std::string, TensorType> states = StatesOf(graph);
  return std::ranges::all_of(file.tensors(), [&](const StoredTensor& tensor) {
    return IsGenerated(tensor.name) || states.contains(tensor.name);
  });
}

}  // namespace partita
