// The learning rate as a function of the step's number. Plain double arithmetic, for host and device code alike.
//
// With t = iteration (0 for the first step), w = warmup_steps, T = steps, s = t - w:
//   warm-up      t < w: base (t + 1) / w, or, if it is exponential, base 0.01^((w - t) / w); else
//   constant     base; plateau: the same, which a factor follows that who trains sets (graph/update/append_update.cc)
//   step         max(base decay^floor(s / decay_steps), final)
//   exponential  max(base decay^(s / decay_steps), final)
//   halving      base / 2^k: k = 0 for t < decay_start,
//                then min(floor((t - decay_start) / decay_steps) + 1, decay_times)
//   inverse_square_root
//                base sqrt(max(w, 1) / (t + 1))
//   cosine       final + (base - final) (1 + cos(pi min(s / (T - w), 1))) / 2;
//                final if T <= w, which no step reaches
//   polynomial   final + (base - final) (1 - min(s / (T - w), 1))^power; final if T <= w. Without a warm-up this is
//                PyTorch's PolynomialLR where final is 0
//   linear       the same with a power of 1: PyTorch's LinearLR from a factor of 1
//   one_cycle    (Smith and Topin 2017, in the cosine form of PyTorch's OneCycleLR; it has its own warm-up, w is 0)
//                u = start_fraction T - 1. Up to step u from base / initial_divisor to base, then until step T - 1 down
//                to base / initial_divisor / final_divisor, each along half a cosine; that rate stays afterwards.
#ifndef PARTITA_OPS_VALUES_LEARNING_RATE_SCHEDULE_H_
#define PARTITA_OPS_VALUES_LEARNING_RATE_SCHEDULE_H_

#include <cmath>
#include <cstdint>

#include "runtime/base/philox.h"

namespace partita {

struct LearningRateSchedule {
  enum class Kind { kConstant, kStep, kExponential, kHalving, kInverseSquareRoot, kCosine, kPolynomial, kOneCycle };

  Kind kind = Kind::kConstant;
  double base = 0;
  double final = 0;
  double decay = 0;
  double start_fraction = 0;
  double initial_divisor = 1;
  double final_divisor = 1;
  double power = 1;
  int64_t steps = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 1;
  int64_t decay_start = 0;
  int64_t decay_times = 0;
  bool exponential_warmup = false;

  PARTITA_HOST_DEVICE static double Max(double a, double b) { return a < b ? b : a; }

  // Half a cosine from `from` (at fraction 0) to `to` (at 1).
  PARTITA_HOST_DEVICE static double Anneal(double from, double to, double fraction) {
    return to + (from - to) / 2 * (1 + std::cos(3.14159265358979323846 * fraction));
  }

  PARTITA_HOST_DEVICE double OneCycle(int64_t iteration) const {
    const double t = static_cast<double>(iteration);
    const double peak = start_fraction * static_cast<double>(steps) - 1;
    const double last = static_cast<double>(steps) - 1;
    const double start = base / initial_divisor;
    if (peak > 0 && t <= peak) return Anneal(start, base, t / peak);
    const double fraction = (t - peak) / (last - peak);
    return Anneal(base, start / final_divisor, fraction < 1 ? fraction : 1);
  }

  // Of a step within it.
  PARTITA_HOST_DEVICE double WarmUp(int64_t iteration) const {
    const double length = static_cast<double>(warmup_steps);
    if (exponential_warmup) return base * std::pow(0.01, static_cast<double>(warmup_steps - iteration) / length);
    return base * static_cast<double>(iteration + 1) / length;
  }

  PARTITA_HOST_DEVICE double Halved(int64_t iteration) const {
    if (iteration < decay_start) return base;
    const int64_t times = (iteration - decay_start) / decay_steps + 1;
    return base * std::pow(0.5, static_cast<double>(times < decay_times ? times : decay_times));
  }

  PARTITA_HOST_DEVICE double Rate(int64_t iteration) const {
    if (kind == Kind::kOneCycle) return OneCycle(iteration);
    if (iteration < warmup_steps) return WarmUp(iteration);
    const int64_t s = iteration - warmup_steps;
    if (kind == Kind::kStep) return Max(base * std::pow(decay, static_cast<double>(s / decay_steps)), final);
    if (kind == Kind::kExponential) {
      return Max(base * std::pow(decay, static_cast<double>(s) / static_cast<double>(decay_steps)), final);
    }
    if (kind == Kind::kHalving) return Halved(iteration);
    if (kind == Kind::kInverseSquareRoot) {
      return base * std::sqrt(Max(static_cast<double>(warmup_steps), 1) / static_cast<double>(iteration + 1));
    }
    if (kind == Kind::kCosine || kind == Kind::kPolynomial) {
      if (iteration >= steps) return final;
      const double fraction = static_cast<double>(s) / static_cast<double>(steps - warmup_steps);
      if (kind == Kind::kCosine) return Anneal(base, final, fraction);
      return final + (base - final) * std::pow(1 - fraction, power);
    }
    return base;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LEARNING_RATE_SCHEDULE_H_
