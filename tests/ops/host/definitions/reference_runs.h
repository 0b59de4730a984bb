// How tests of definitions run nodes: by the reference, in f64.
#ifndef PARTITA_TESTS_OPS_HOST_DEFINITIONS_REFERENCE_RUNS_H_
#define PARTITA_TESTS_OPS_HOST_DEFINITIONS_REFERENCE_RUNS_H_

#include <utility>

#include "tests/ops/host/kernel_case.h"

namespace partita {

inline TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }

inline constexpr RunOptions kReference{.family = {}, .reference_only = true};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_DEFINITIONS_REFERENCE_RUNS_H_
