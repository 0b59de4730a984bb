// Writes the weights of the places of a row.
#ifndef PARTITA_RUNTIME_DATA_TEXT_WRITE_WEIGHTS_H_
#define PARTITA_RUNTIME_DATA_TEXT_WRITE_WEIGHTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/value/dtype.h"

namespace partita {

// `value` in the first `count` places of `out`, zeros behind them.
template <typename T>
void WriteSome(T value, int64_t count, std::span<std::byte> out) {
  T* const to = reinterpret_cast<T*>(out.data());
  std::fill_n(to, count, value);
  std::fill(to + count, to + out.size() / sizeof(T), T{0});
}

// The same of f32 or f64.
inline void WriteWeights(DType dtype, double value, int64_t count, std::span<std::byte> out) {
  if (dtype == DType::kF32) {
    WriteSome(static_cast<float>(value), count, out);
  } else {
    WriteSome(value, count, out);
  }
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_WRITE_WEIGHTS_H_
