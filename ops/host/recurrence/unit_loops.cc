#include "ops/host/recurrence/unit_loops.h"

#include "ops/functors/lstm.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/turn.h"

namespace partita {
namespace {

// Units that are taken together: compilers store single floats where four values of a unit go side by side, so those of
// many units are made one behind the other, and turned.
constexpr int64_t kPiece = 32;
using Gates = float[kLstmGates][kPiece];

constexpr int64_t PieceOf(int64_t units) { return units < kPiece ? units : kPiece; }

PARTITA_INLINE void Advance(const UnitStep& at, int64_t first, int64_t n, float forget_bias) {
  const float* const g = at.g + kLstmGates * first;
  const float* const sums = at.sums + kLstmGates * first;
  float* const state = at.state + first;
  float* const cells = at.cells + first;
  float* const outputs = at.outputs + first;
  float* const last_outputs = at.last_outputs + first;
  alignas(64) Gates gates;
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < n; ++u) {
    const int64_t k = kLstmGates * u;
    const float input = Logistic(g[k] + sums[k]), forget = Logistic((g[k + 1] + sums[k + 1]) + forget_bias);
    const float candidate = Squashed(g[k + 2] + sums[k + 2]), output = Logistic(g[k + 3] + sums[k + 3]);
    const float cell = forget * state[u] + input * candidate, y = output * Squashed(cell);
    gates[0][u] = input;
    gates[1][u] = forget;
    gates[2][u] = candidate;
    gates[3][u] = output;
    state[u] = cell;
    cells[u] = cell;
    outputs[u] = y;
    last_outputs[u] = y;
  }
  Turn(gates[0], kPiece, n, at.gates + kLstmGates * first, kLstmGates);
}

PARTITA_INLINE void GoBack(const UnitStepBack& at, int64_t first, int64_t n) {
  const float* const gates = at.gates + kLstmGates * first;
  const float* const cells = at.cells + first;
  const float* const before = at.before + first;
  const float* const sums = at.sums + first;
  const float* const given = at.given + first;
  float* const dcells = at.dcells + first;
  alignas(64) Gates dg;
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < n; ++u) {
    const int64_t k = kLstmGates * u;
    const float input = gates[k], forget = gates[k + 1], candidate = gates[k + 2], output = gates[k + 3];
    const float squashed = Squashed(cells[u]), dy = sums[u] + given[u];
    const float d = dcells[u] + dy * output * ((1 - squashed) * (1 + squashed));
    dg[0][u] = d * candidate * input * (1 - input);
    dg[1][u] = d * before[u] * forget * (1 - forget);
    dg[2][u] = d * input * ((1 - candidate) * (1 + candidate));
    dg[3][u] = dy * squashed * output * (1 - output);
    dcells[u] = d * forget;
  }
  Turn(dg[0], kPiece, n, at.dg + kLstmGates * first, kLstmGates);
}

}  // namespace

PARTITA_TARGET_CLONES void AdvanceUnits(const UnitStep* steps, int64_t rows, int64_t units, float forget_bias) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t u = 0; u < units; u += kPiece) Advance(steps[r], u, PieceOf(units - u), forget_bias);
  }
}

PARTITA_TARGET_CLONES void UnitOutputs(const float* gates, const float* cells, float* outputs, int64_t units) {
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) outputs[u] = gates[kLstmGates * u + 3] * Squashed(cells[u]);
}

PARTITA_TARGET_CLONES void UnitGradients(const UnitStepBack* steps, int64_t rows, int64_t units) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t u = 0; u < units; u += kPiece) GoBack(steps[r], u, PieceOf(units - u));
  }
}

}  // namespace partita
