// What happens to many units of an LSTM at once, in vectors: the arithmetic of ops/functors/lstm.h. Gates of a unit lie
// side by side, units behind each other.
#ifndef PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_
#define PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_

#include <cstdint>

namespace partita {

// Sums of gates become gates.
void OpenUnits(float* gates, int64_t units, float forget_bias);

// Cells before become cells, and give outputs.
void AdvanceUnits(const float* gates, float* cells, float* outputs, int64_t units);

// outputs = what AdvanceUnits gave.
void UnitOutputs(const float* gates, const float* cells, float* outputs, int64_t units);

// Gradients of the gates' sums from those of outputs and cells; the latter become those of the cells before, which may
// be null: zero. `dg` may be `gates`.
void UnitGradients(const float* gates, const float* before, const float* cells, const float* doutputs, float* dcells,
                   float* dg, int64_t units);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_
