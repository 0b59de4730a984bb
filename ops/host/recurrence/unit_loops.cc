#include "ops/host/recurrence/unit_loops.h"

#include "ops/functors/lstm.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/recurrence/squashing.h"

namespace partita {

// The tangent is a logistic function, stretched: 2 logistic(2x) - 1, but near 0. All four gates go the same way, so
// that they become one vector.
PARTITA_TARGET_CLONES void OpenUnits(float* gates, int64_t units, float forget_bias) {
  const float shift[kLstmGates] = {0, forget_bias, 0, 0}, stretch[kLstmGates] = {1, 1, 2, 1};
  const float low[kLstmGates] = {0, 0, -1, 0}, near0[kLstmGates] = {0, 0, kNear0 * kNear0, 0};
  for (int64_t u = 0; u < units; ++u) {
    float* const at = gates + kLstmGates * u;
    for (int k = 0; k < kLstmGates; ++k) {
      const float z = at[k] + shift[k], far = stretch[k] * Logistic(stretch[k] * z) + low[k];
      at[k] = z * z < near0[k] ? SquashedNear0(z) : far;
    }
  }
}

PARTITA_TARGET_CLONES void AdvanceUnits(const float* gates, float* cells, float* outputs, int64_t units) {
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float* const at = gates + kLstmGates * u;
    const float cell = at[1] * cells[u] + at[0] * at[2];
    cells[u] = cell;
    outputs[u] = at[3] * Squashed(cell);
  }
}

PARTITA_TARGET_CLONES void UnitOutputs(const float* gates, const float* cells, float* outputs, int64_t units) {
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) outputs[u] = gates[kLstmGates * u + 3] * Squashed(cells[u]);
}

PARTITA_TARGET_CLONES void UnitGradients(const float* gates, const float* before, const float* cells,
                                         const float* doutputs, float* dcells, float* dg, int64_t units) {
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float* const at = gates + kLstmGates * u;
    const float input = at[0], forget = at[1], candidate = at[2], output = at[3];
    const float squashed = Squashed(cells[u]), dy = doutputs[u];
    const float d = dcells[u] + dy * output * ((1 - squashed) * (1 + squashed));
    const float cell_before = before == nullptr ? 0.0f : before[u];
    float* const to = dg + kLstmGates * u;
    to[0] = d * candidate * input * (1 - input);
    to[1] = d * cell_before * forget * (1 - forget);
    to[2] = d * input * ((1 - candidate) * (1 + candidate));
    to[3] = dy * squashed * output * (1 - output);
    dcells[u] = d * forget;
  }
}

}  // namespace partita
