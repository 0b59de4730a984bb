// Whether a training step reports the norm of all gradients.
#ifndef PARTITA_GRAPH_UPDATE_GRADIENT_NORM_H_
#define PARTITA_GRAPH_UPDATE_GRADIENT_NORM_H_

#include <cstdint>

namespace partita {

enum class GradientNorm : uint8_t {
  kOmitted,
  kIfClipped,  // where all gradients are clipped by their norm: the step computes it anyway
  kReported,   // everywhere: the step squares all gradients, and the ranks add one number up
};

}  // namespace partita

#endif  // PARTITA_GRAPH_UPDATE_GRADIENT_NORM_H_
