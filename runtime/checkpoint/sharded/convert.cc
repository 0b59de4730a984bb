#include "runtime/checkpoint/sharded/convert.h"

#include <cstring>

#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/save_in_turn.h"

namespace partita {
namespace {

// Where the box begins in a row-major tensor of that shape, in elements.
int64_t PlaceOf(const Shape& offset, const Shape& shape) {
  int64_t place = 0;
  for (size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + offset[d];
  return place;
}

// A box, in row-major order, to its place in the whole tensor: row by row of its last dimension.
void CopyIntoWhole(const Box& box, const char* bytes, const Shape& shape, int64_t element, char* whole) {
  const int64_t row = box.size.empty() ? 1 : box.size.back();
  Shape at = box.offset;
  for (int64_t left = box.elements() / row; left > 0; --left, bytes += row * element) {
    std::memcpy(whole + PlaceOf(at, shape) * element, bytes, static_cast<size_t>(row * element));
    for (size_t d = at.size(); d > 1; --d) {
      if (++at[d - 2] < box.offset[d - 2] + box.size[d - 2]) break;
      at[d - 2] = box.offset[d - 2];
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadWhole(const SavedCheckpoint& checkpoint, const SavedState& state) {
  const int64_t element = SizeOf(state.dtype), bytes = Elements(state.shape) * element;
  RETURN_IF_ERROR(CheckMemory(checkpoint.folder(), bytes));
  return OrExhausted(checkpoint.folder().c_str(), [&]() -> absl::StatusOr<std::string> {
    std::string whole(static_cast<size_t>(bytes), '\0');
    RETURN_IF_ERROR(checkpoint.Read(
        state, [](const Box&) { return true; },
        [&](const Box& piece, const char* from) { CopyIntoWhole(piece, from, state.shape, element, whole.data()); }));
    return whole;
  });
}

absl::Status ConvertCheckpoint(const SavedCheckpoint& checkpoint, const std::string& path) {
  const std::vector<SavedState>& states = checkpoint.record().states;
  std::vector<NamedTensor> tensors;
  for (const SavedState& state : states) {
    tensors.push_back({state.name, state.dtype, {state.shape.begin(), state.shape.end()}, {}});
  }
  std::string whole;
  const auto bytes_of = [&](size_t state) -> absl::StatusOr<std::string_view> {
    whole = std::string();  // one state at a time
    ASSIGN_OR_RETURN(whole, ReadWhole(checkpoint, states[state]));
    return whole;
  };
  return SaveInTurn(path, tensors, checkpoint.record().metadata, bytes_of);
}

}  // namespace partita
