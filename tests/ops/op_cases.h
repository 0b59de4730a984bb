// One table of ops with attributes and inputs, for every test that runs over all ops: gradients by finite differences,
// kernels against their reference, layouts against one rank, and the definitions themselves. Sizes are odd and small.
#ifndef PARTITA_TESTS_OPS_OP_CASES_H_
#define PARTITA_TESTS_OPS_OP_CASES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

enum class Fill {
  kUniform,     // uniform in [low, high)
  kSpread,      // distinct, evenly spaced in (low, high), shuffled, never 0: away from the kinks of relu and max
  kIntegers,    // whole numbers in [low, high)
  kStatistics,  // [G,2,C] sums over `high` elements: mean within 0.5 of 0, mean square between 1 and 2
};

struct CaseInput {
  TensorType type;
  bool differentiable = false;
  Fill fill = Fill::kUniform;
  double low = -1;
  double high = 1;
};

struct OpCase {
  std::string name;  // unique: "conv2d/stride"
  std::string op;
  Attributes attributes;                         // complete: defaults are filled in
  std::vector<std::optional<CaseInput>> inputs;  // nullopt: an absent optional input
  std::vector<size_t> kept = {};                 // outputs for the gradient alone: no cotangent arrives there
};

// Ops with a gradient, every combination of attributes that matters; floats are f64.
std::vector<OpCase> GradientCases();

// GradientCases and the ops without a gradient that have kernels: gradient ops, updates, metrics. Does not include ops
// whose inputs depend on each other (max_pool_grad: y is the pooled x); the gradients' tests cover them.
std::vector<OpCase> KernelCases();

// Every op that a user's graph may have, but for sources: of KernelCases those that users write, and those that entry
// points take apart. An input that its op updates is a state.
std::vector<OpCase> UserCases();

// The same case with every f64 input, and a `dtype` attribute of f64, made f32.
OpCase InF32(OpCase op_case);

// The values of an input, row-major; the same for the same seed.
std::vector<double> CaseValues(const CaseInput& input, uint64_t seed);

// A case's node for the functions of a definition; `outputs` are inferred (CHECKed). Keeps pointers into `op_case`.
NodeView ViewOf(const OpCase& op_case);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_OP_CASES_H_
