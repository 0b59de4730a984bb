// Whole tensors from what the ranks hold of them, and back.
#ifndef PARTITA_RUNTIME_API_RANK_GATHER_H_
#define PARTITA_RUNTIME_API_RANK_GATHER_H_

#include <memory>
#include <span>
#include <vector>

#include "graph/ir/kernel_catalogue.h"
#include "graph/value/layout.h"

namespace partita {

// A dense row-major tensor in memory that it does not own.
struct ConstTensor {
  DType dtype = DType::kF32;
  Shape shape;
  const void* data = nullptr;
};

// A dense row-major tensor in the host's memory.
struct HostTensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<char> bytes;

  operator ConstTensor() const { return {dtype, shape, bytes.data()}; }
};

// What one rank holds of a value; `data` is null where it holds nothing. `memory` owns the bytes where they are a copy;
// else they are the rank's.
struct HeldTensor {
  LocalTensor tensor;
  void* data = nullptr;
  std::shared_ptr<void> memory = nullptr;
};

// Copies a part to or from its place in the whole tensor, whose bytes are `whole`; margins have none.
void CopyFromPart(const HeldTensor& part, char* whole);
void CopyToPart(const char* whole, const HeldTensor& part);

// Whether no rank before this one holds the same bytes of a value of that layout.
bool IsFirstReplica(const Layout& layout, const Mesh& mesh, int rank);

// Elements of a tensor as doubles, which hold those of every type exactly.
std::vector<double> ToDoubles(const HostTensor& tensor);

// A value of a partitioned graph, made whole: blocks put together, partial sums (or maxima) and summed ghosts added up.
struct WholeValue {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<double> elements;
  // Wherever the layout says R, the ranks' values are bitwise identical.
  bool replicas_equal = true;
};

// `parts`: by rank of the program. `mesh`: that of the layout.
WholeValue GatherValue(const TensorType& type, const Layout& layout, const Mesh& mesh,
                       std::span<const HeldTensor> parts);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_GATHER_H_
