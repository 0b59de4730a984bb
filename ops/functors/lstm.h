// A unit of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; docs/papers.md 11.12),
// for one place of a sequence.
//
// Its four gates lie together, in the order input, forget, candidate, output. Of their sums z
//   i = sigmoid(z0)   f = sigmoid(z1 + forget_bias)   j = tanh(z2)   o = sigmoid(z3)
//   c = f c_before + i j              y = o tanh(c)
#ifndef PARTITA_OPS_FUNCTORS_LSTM_H_
#define PARTITA_OPS_FUNCTORS_LSTM_H_

#include <cmath>
#include <cstdint>

#include "ops/functors/sigmoid.h"
#include "ops/functors/tanh.h"
#include "runtime/base/philox.h"

namespace partita {

// Sizes of a rank's share: of x, time by time and unit by unit.
struct LstmSizes {
  int64_t samples = 0, places = 0;
  int64_t units = 0;    // H
  int64_t outputs = 0;  // of each place: H, or what a projection makes of them
  bool reverse = false;
  bool projected = false;
  double forget_bias = 0;

  PARTITA_HOST_DEVICE int64_t gates() const { return 4 * units; }
  // The place that is computed at `step`, and the one that it follows; without meaning at the first step.
  PARTITA_HOST_DEVICE int64_t Place(int64_t step) const { return reverse ? places - 1 - step : step; }
  PARTITA_HOST_DEVICE int64_t Before(int64_t place) const { return reverse ? place + 1 : place - 1; }
  // Of a sequence of `length`: whether a place of it begins it.
  PARTITA_HOST_DEVICE bool First(int64_t place, int64_t length) const { return place == (reverse ? length - 1 : 0); }
};

inline constexpr int kLstmGates = 4;

template <typename T>
struct LstmGates {
  T input, forget, candidate, output;
};

template <typename T>
PARTITA_HOST_DEVICE inline LstmGates<T> OpenGates(const LstmGates<T>& z, T forget_bias) {
  return {Sigmoid::Value(z.input), Sigmoid::Value(z.forget + forget_bias), Tanh::Value(z.candidate),
          Sigmoid::Value(z.output)};
}

template <typename T>
PARTITA_HOST_DEVICE inline T NewCell(const LstmGates<T>& gates, T before) {
  return gates.forget * before + gates.input * gates.candidate;
}

template <typename T>
PARTITA_HOST_DEVICE inline T CellOutput(const LstmGates<T>& gates, T cell) {
  return gates.output * Tanh::Value(cell);
}

// Gradients of the gates' sums and of the cell before, from those of y and of the cell (by the place that follows).
template <typename T>
struct LstmGradient {
  LstmGates<T> sums;
  T before;
};

template <typename T>
PARTITA_HOST_DEVICE inline LstmGradient<T> UnitGradient(const LstmGates<T>& gates, T before, T cell, T dy, T dcell) {
  const T squashed = Tanh::Value(cell);
  const T d = dcell + Tanh::Gradient(dy * gates.output, squashed);
  return {{Sigmoid::Gradient(d * gates.candidate, gates.input), Sigmoid::Gradient(d * before, gates.forget),
           Tanh::Gradient(d * gates.input, gates.candidate), Sigmoid::Gradient(dy * squashed, gates.output)},
          d * gates.forget};
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_LSTM_H_
