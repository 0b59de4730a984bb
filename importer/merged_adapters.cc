#include "importer/merged_adapters.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/read/adapted_model.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<DType> TypeOf(const SafetensorsFile& file, const StoredTensor& tensor) {
  for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kU8}) {
    if (tensor.type == StoredTypeOf(type)) return type;
  }
  return InvalidArgument("{}: tensor {}: is of type {}; expected F32, F64, I32 or U8", file.path(),
                         Printable(tensor.name), std::string(tensor.type->name));
}

absl::StatusOr<DType> FloatOf(const SafetensorsFile& file, const StoredTensor& tensor) {
  ASSIGN_OR_RETURN(const DType type, TypeOf(file, tensor));
  if (IsFloating(type)) return type;
  return InvalidArgument("{}: tensor {}: is of type {}; expected F32 or F64", file.path(), Printable(tensor.name),
                         std::string(tensor.type->name));
}

// Doubles from and to what files have.
std::vector<double> Widened(std::span<const std::byte> bytes, DType type) {
  std::vector<double> values(bytes.size() / static_cast<size_t>(SizeOf(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    float value = 0;
    if (type == DType::kF64) {
      std::memcpy(&values[i], bytes.data() + i * sizeof(double), sizeof(double));
    } else {
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      values[i] = value;
    }
  }
  return values;
}

std::string Rounded(const std::vector<double>& values, DType type) {
  std::string bytes;
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    const void* const element = type == DType::kF64 ? static_cast<const void*>(&value) : &narrow;
    bytes.append(static_cast<const char*>(element), static_cast<size_t>(SizeOf(type)));
  }
  return bytes;
}

class Merge {
 public:
  Merge(const Graph& adapted, const SafetensorsFile& weights, const AdapterFolder* folder)
      : graph_(adapted), weights_(weights), folder_(folder) {}

  absl::StatusOr<SafetensorsFile> Run() {
    const std::vector<Adapter> adapters = AdaptersOf(graph_);
    std::set<std::string> parts;
    for (const Adapter& adapter : adapters) {
      RETURN_IF_ERROR(Add(adapter));
      parts.insert({adapter.a, adapter.b});
    }
    for (const StoredTensor& tensor : weights_.tensors()) {
      const bool is_other = !IsGenerated(tensor.name) && !parts.contains(tensor.name) && !merged_.contains(tensor.name);
      if (is_other) RETURN_IF_ERROR(Keep(tensor));
    }
    ASSIGN_OR_RETURN(const EncodedFile encoded, EncodeSafetensors(weights_.path(), tensors_, {}));
    std::string bytes = encoded.head;
    for (const std::span<const std::byte> piece : encoded.tensors) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    return SafetensorsFile::Parse(weights_.path(), std::move(bytes));
  }

 private:
  // Of the folder, or else of the file.
  absl::StatusOr<std::vector<double>> Values(const std::string& name) const {
    const Shape& shape = graph_.type(graph_.Find(name)).shape;
    if (folder_ != nullptr) return folder_->Values(name, shape);
    const StoredTensor* const tensor = weights_.Find(name);
    if (tensor == nullptr) return InvalidArgument("{}: has no tensor {}", weights_.path(), Printable(name));
    ASSIGN_OR_RETURN(const DType type, FloatOf(weights_, *tensor));
    ASSIGN_OR_RETURN(const auto bytes, weights_.Get(name, type, shape));
    return Widened(bytes, type);
  }

  void Put(const StoredTensor& like, DType type, std::string bytes) {
    const std::string& kept = bytes_.emplace_back(std::move(bytes));
    tensors_.push_back({like.name, type, like.shape, std::as_bytes(std::span(kept.data(), kept.size()))});
    merged_.insert(like.name);
  }

  absl::Status Add(const Adapter& adapter) {
    const StoredTensor* const tensor = weights_.Find(adapter.weight);
    if (tensor == nullptr) return InvalidArgument("{}: has no tensor {}", weights_.path(), Printable(adapter.weight));
    ASSIGN_OR_RETURN(const DType type, FloatOf(weights_, *tensor));
    const Shape& shape = graph_.type(graph_.Find(adapter.weight)).shape;
    ASSIGN_OR_RETURN(const auto bytes, weights_.Get(adapter.weight, type, shape));
    std::vector<double> w = Widened(bytes, type);
    ASSIGN_OR_RETURN(const std::vector<double> a, Values(adapter.a));
    ASSIGN_OR_RETURN(const std::vector<double> b, Values(adapter.b));
    const int64_t in = shape[adapter.transposed ? 1 : 0], out = shape[adapter.transposed ? 0 : 1];
    const int64_t rank = graph_.type(graph_.Find(adapter.a)).shape[0];
    const int64_t out_stride = adapter.transposed ? in : 1, in_stride = adapter.transposed ? 1 : out;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t r = 0; r < rank; ++r) {
        const double up = adapter.factor * b[static_cast<size_t>(o * rank + r)];
        for (int64_t i = 0; i < in; ++i) {
          w[static_cast<size_t>(o * out_stride + i * in_stride)] += up * a[static_cast<size_t>(r * in + i)];
        }
      }
    }
    Put(*tensor, type, Rounded(w, type));
    return absl::OkStatus();
  }

  absl::Status Keep(const StoredTensor& tensor) {
    if (folder_ != nullptr && folder_->tensors().contains(tensor.name)) {
      ASSIGN_OR_RETURN(const DType type, FloatOf(weights_, tensor));
      ASSIGN_OR_RETURN(const std::vector<double> values, folder_->Values(tensor.name, tensor.shape));
      Put(tensor, type, Rounded(values, type));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const DType type, TypeOf(weights_, tensor));
    tensors_.push_back({tensor.name, type, tensor.shape, weights_.Bytes(tensor)});
    return absl::OkStatus();
  }

  const Graph& graph_;
  const SafetensorsFile& weights_;
  const AdapterFolder* folder_;
  std::deque<std::string> bytes_;  // whose places do not change
  std::vector<NamedTensor> tensors_;
  std::set<std::string> merged_;
};

}  // namespace

absl::StatusOr<SafetensorsFile> MergeAdapters(const Graph& adapted, const SafetensorsFile& weights,
                                              const AdapterFolder* folder) {
  return Merge(adapted, weights, folder).Run();
}

absl::Status SaveMerged(const SafetensorsFile& merged, const std::string& path) {
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& tensor : merged.tensors()) {
    ASSIGN_OR_RETURN(const DType type, TypeOf(merged, tensor));
    tensors.push_back({tensor.name, type, tensor.shape, merged.Bytes(tensor)});
  }
  return SaveSafetensors(path, tensors, {});
}

bool HasAdapters(const SafetensorsFile& weights) {
  return std::ranges::any_of(weights.tensors(),
                             [](const StoredTensor& tensor) { return tensor.name.ends_with(kAdapterDown); });
}

}  // namespace partita
