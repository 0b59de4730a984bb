// The updates that exist. One more is a file that says all of it (update.h), and a line here.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_UPDATES_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_UPDATES_H_

#include <string>
#include <vector>

#include "ops/functors/updates/adagrad.h"
#include "ops/functors/updates/adam.h"
#include "ops/functors/updates/carry.h"
#include "ops/functors/updates/lamb.h"
#include "ops/functors/updates/lars.h"
#include "ops/functors/updates/moving_average.h"
#include "ops/functors/updates/rmsprop.h"
#include "ops/functors/updates/rmsprop_torch.h"
#include "ops/functors/updates/sgd.h"
#include "runtime/base/check.h"

#define PARTITA_UPDATES(UPDATE) \
  UPDATE(Sgd)                   \
  UPDATE(SgdMomentum)           \
  UPDATE(Adam)                  \
  UPDATE(AdamW)                 \
  UPDATE(Adagrad)               \
  UPDATE(RmsProp)               \
  UPDATE(RmsPropTorch)          \
  UPDATE(RmsPropTorchCentered)  \
  UPDATE(LambDirection)         \
  UPDATE(Lamb)                  \
  UPDATE(Lars)                  \
  UPDATE(MovingAverageUpdate)   \
  UPDATE(CarryUpdate)

namespace partita {

inline std::vector<std::string> UpdateNames() {
  std::vector<std::string> names;
#define PARTITA_NAME(F) names.push_back(F::kName);
  PARTITA_UPDATES(PARTITA_NAME)
#undef PARTITA_NAME
  return names;
}

// f.operator()<F>() of the update whose op has this name, which must exist.
template <typename Function>
auto WithUpdate(const std::string& op, const Function& f) {
#define PARTITA_CALL(F) \
  if (op == F::kName) return f.template operator()<F>();
  PARTITA_UPDATES(PARTITA_CALL)
#undef PARTITA_CALL
  CHECK(false);
  return f.template operator()<Sgd>();
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_UPDATES_H_
