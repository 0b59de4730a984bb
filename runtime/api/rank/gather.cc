#include "runtime/api/rank/gather.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/schedule/box_copy.h"
#include "runtime/base/bf16.h"
#include "runtime/exec/copy_kernel.h"

namespace partita {
namespace {

BoxCopy CopyOfPart(const LocalTensor& tensor, bool to_whole) {
  const Box whole = WholeBox(tensor.global);
  const Box part = Intersect(tensor.box, whole);  // a margin has no place in the whole
  return to_whole ? CopyOf(part, tensor.box, whole, tensor.dtype) : CopyOf(part, whole, tensor.box, tensor.dtype);
}

void Copy(const BoxCopy& copy, const char* from, char* to) { RunStridedCopy(MakeStridedCopy(copy, from, to)); }

template <typename T>
void AppendDoubles(const HostTensor& tensor, std::vector<double>& elements) {
  const T* const data = reinterpret_cast<const T*>(tensor.bytes.data());
  elements.resize(tensor.bytes.size() / sizeof(T));
  std::transform(data, data + elements.size(), elements.begin(), [](T value) { return static_cast<double>(value); });
}

// The coordinates of a rank on the axes where the value is a sum: which summand the rank holds a part of.
std::vector<int> SummandOf(const Layout& layout, const std::vector<int>& coordinates) {
  std::vector<int> summand;
  for (size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].partial() || layout[axis].summed()) summand.push_back(coordinates[axis]);
  }
  return summand;
}

// The rank that holds the same bytes and has coordinate 0 wherever the value is replicated.
int FirstReplica(const Layout& layout, const Mesh& mesh, std::vector<int> coordinates) {
  for (size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].replicated()) coordinates[axis] = 0;
  }
  return mesh.Rank(coordinates);
}

bool SameBits(const HeldTensor& a, const HeldTensor& b) {
  if (a.data == nullptr || b.data == nullptr) return a.data == b.data;
  return std::memcmp(a.data, b.data, static_cast<size_t>(a.tensor.bytes())) == 0;
}

Reduction ReductionOf(const Layout& layout) {
  for (const AxisLayout& axis : layout) {
    if (axis.partial()) return axis.reduction;
  }
  return Reduction::kSum;
}

}  // namespace

void CopyFromPart(const HeldTensor& part, char* whole) {
  if (part.data != nullptr) Copy(CopyOfPart(part.tensor, true), static_cast<const char*>(part.data), whole);
}

void CopyToPart(const char* whole, const HeldTensor& part) {
  if (part.data != nullptr) Copy(CopyOfPart(part.tensor, false), whole, static_cast<char*>(part.data));
}

bool IsFirstReplica(const Layout& layout, const Mesh& mesh, int rank) {
  return mesh.Has(rank) && FirstReplica(layout, mesh, mesh.Coordinates(rank)) == rank;
}

std::vector<double> ToDoubles(const HostTensor& tensor) {
  std::vector<double> elements;
  switch (tensor.dtype) {
    case DType::kF32:
      AppendDoubles<float>(tensor, elements);
      break;
    case DType::kF64:
      AppendDoubles<double>(tensor, elements);
      break;
    case DType::kI32:
      AppendDoubles<int32_t>(tensor, elements);
      break;
    case DType::kU8:
      AppendDoubles<uint8_t>(tensor, elements);
      break;
    case DType::kBF16:
      AppendDoubles<Bf16>(tensor, elements);
      break;
  }
  return elements;
}

WholeValue GatherValue(const TensorType& type, const Layout& layout, const Mesh& mesh,
                       std::span<const HeldTensor> parts) {
  WholeValue value{type.dtype, type.shape, {}, true};
  std::map<std::vector<int>, HostTensor> summands;
  const auto bytes = static_cast<size_t>(Elements(type.shape) * SizeOf(type.dtype));
  for (int rank : mesh.Ranks()) {
    const std::vector<int> coordinates = mesh.Coordinates(rank);
    const int first = FirstReplica(layout, mesh, coordinates);
    if (first != rank) {
      value.replicas_equal = value.replicas_equal && SameBits(parts[rank], parts[first]);
      continue;
    }
    HostTensor& summand = summands[SummandOf(layout, coordinates)];
    if (summand.bytes.size() != bytes) summand = {type.dtype, type.shape, std::vector<char>(bytes)};
    CopyFromPart(parts[rank], summand.bytes.data());
  }
  for (const auto& [coordinates, summand] : summands) {
    const std::vector<double> elements = ToDoubles(summand);
    if (value.elements.empty()) {
      value.elements = elements;
      continue;
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      double& sum = value.elements[i];
      sum = ReductionOf(layout) == Reduction::kSum ? sum + elements[i] : std::max(sum, elements[i]);
    }
  }
  return value;
}

}  // namespace partita
