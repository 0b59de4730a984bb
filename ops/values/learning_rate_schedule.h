// The learning rate as a function of the step's number. Plain double arithmetic, for host and device code alike.
//
// With t = iteration (0 for the first step), w = warmup_steps, T = steps, s = t - w:
//   warm-up      t < w: base (t + 1) / w; else
//   constant     base
//   step         base decay^floor(s / decay_steps)
//   exponential  base decay^(s / decay_steps)
//   cosine       final + (base - final) (1 + cos(pi min(s / (T - w), 1))) / 2; final if T <= w, which no step reaches
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
  enum class Kind { kConstant, kStep, kExponential, kCosine, kOneCycle };

  Kind kind = Kind::kConstant;
  double base = 0;
  double final = 0;
  double decay = 0;
  double start_fraction = 0;
  double initial_divisor = 1;
  double final_divisor = 1;
  int64_t steps = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 1;

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

  PARTITA_HOST_DEVICE double Rate(int64_t iteration) const {
    if (kind == Kind::kOneCycle) return OneCycle(iteration);
    if (iteration < warmup_steps) return base * static_cast<double>(iteration + 1) / static_cast<double>(warmup_steps);
    const int64_t s = iteration - warmup_steps;
    if (kind == Kind::kStep) return base * std::pow(decay, static_cast<double>(s / decay_steps));
    if (kind == Kind::kExponential) {
      return base * std::pow(decay, static_cast<double>(s) / static_cast<double>(decay_steps));
    }
    if (kind == Kind::kCosine) {
      if (iteration >= steps) return final;
      return Anneal(base, final, static_cast<double>(s) / static_cast<double>(steps - warmup_steps));
    }
    return base;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_LEARNING_RATE_SCHEDULE_H_
