// Computes many units of an LSTM at once, in vectors: the arithmetic of ops/functors/lstm.h. Gates of a unit lie side
// by side, units behind each other.
#ifndef PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_
#define PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_

#include <cstdint>

namespace partita {

// Some units of a sample at a place. Nothing overlaps, but `outputs` and `last_outputs` may be the same.
struct UnitStep {
  const float *g, *sums;  // what their gates' sums are made of
  float* state;           // cells before, which become cells
  float *gates, *cells;
  float *outputs, *last_outputs;  // both get the outputs
};
void AdvanceUnits(const UnitStep* steps, int64_t rows, int64_t units, float forget_bias);

// outputs = what AdvanceUnits gave.
void UnitOutputs(const float* gates, const float* cells, float* outputs, int64_t units);

// The same units on the way back. Gradients of cells become those of the cells before.
struct UnitStepBack {
  const float *gates, *cells;
  const float* before;        // cells
  const float *sums, *given;  // what the gradients of their outputs are made of
  float *dcells, *dg;
};
void UnitGradients(const UnitStepBack* steps, int64_t rows, int64_t units);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_UNIT_LOOPS_H_
