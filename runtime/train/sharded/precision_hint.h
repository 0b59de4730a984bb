// What makes a saved state the type that a program has.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_PRECISION_HINT_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_PRECISION_HINT_H_

#include <fmt/format.h>

#include <string>

#include "graph/value/dtype.h"

namespace partita {

// "; --precision=f64 reads it": behind the message that a floating state is saved as `saved`, which is another type.
// Empty: no precision keeps states so (that of bf16 keeps them in f32).
inline std::string PrecisionHint(DType saved) {
  if (saved != DType::kF32 && saved != DType::kF64) return "";
  return fmt::format("; --precision={} reads it", Name(saved));
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_PRECISION_HINT_H_
