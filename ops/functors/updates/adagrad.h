// Adagrad (Duchi, Hazan and Singer 2011). The two epsilons are those of two frameworks: `epsilon`, outside of the root,
// is that of PyTorch's torch.optim.Adagrad; `inner_epsilon`, inside, is that of Keras. TensorFlow's AdagradOptimizer
// has neither, but an accumulator that begins at 0.1.
//   g' = clip g + weight_decay w
//   s' = s + g'^2, where s begins at initial_accumulator     w' = w - rate g' / (sqrt(s' + inner_epsilon) + epsilon)
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_ADAGRAD_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_ADAGRAD_H_

#include <cmath>

#include "ops/functors/updates/update.h"

namespace partita {

struct Adagrad {
  static constexpr char kName[] = "adagrad";
  static constexpr bool kIsOptimizer = true;
  static constexpr bool kCountsSteps = false;
  static constexpr double kFlops = 10;
  static constexpr std::array kSlots = {UpdateSlot{"accumulator", 0, "initial_accumulator"}};

  double initial_accumulator = 0, epsilon = 0, inner_epsilon = 0, weight_decay = 0;
  static constexpr std::array kAttributes = {
      UpdateAttribute<Adagrad>{"initial_accumulator", &Adagrad::initial_accumulator, 0},
      UpdateAttribute<Adagrad>{"epsilon", &Adagrad::epsilon, 1e-10},
      UpdateAttribute<Adagrad>{"inner_epsilon", &Adagrad::inner_epsilon, 0},
      UpdateAttribute<Adagrad>{"weight_decay", &Adagrad::weight_decay, 0}};

  // 0 would be divided by 0 where a gradient is 0.
  const char* Fault() const {
    if (initial_accumulator > 0 || epsilon > 0 || inner_epsilon > 0) return nullptr;
    return "optimizer.initial_accumulator, optimizer.epsilon and optimizer.inner_epsilon are 0; one of them above 0 is "
           "needed";
  }

  template <typename T>
  struct Step {
    T rate, clip, weight_decay, epsilon, inner_epsilon;
    PARTITA_HOST_DEVICE void operator()(T& w, T g, T* s) const {
      const T gradient = clip * g + weight_decay * w;
      *s = *s + gradient * gradient;
      w = w - rate * gradient / (std::sqrt(*s + inner_epsilon) + epsilon);
    }
  };

  template <typename T>
  PARTITA_HOST_DEVICE Step<T> In(const UpdateScalars<T>& scalars) const {
    return {scalars.rate, scalars.clip, static_cast<T>(weight_decay), static_cast<T>(epsilon),
            static_cast<T>(inner_epsilon)};
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_ADAGRAD_H_
