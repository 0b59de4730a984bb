// The updates that exist for single rows of a table as well. Of one that is to be here no attribute is a flag.
#ifndef PARTITA_OPS_FUNCTORS_UPDATES_ROW_UPDATES_H_
#define PARTITA_OPS_FUNCTORS_UPDATES_ROW_UPDATES_H_

#include <string>
#include <vector>

#include "ops/functors/updates/adagrad.h"
#include "ops/functors/updates/adam.h"
#include "ops/functors/updates/sgd.h"
#include "runtime/base/check.h"

#define PARTITA_ROW_UPDATES(UPDATE) \
  UPDATE(Sgd)                       \
  UPDATE(Adam)                      \
  UPDATE(Adagrad)

namespace partita {

// Of the op.
template <typename F>
std::string RowUpdateName() {
  return std::string(F::kName) + "_rows";
}

// Of the update whose op has this name; empty: it has no form for rows.
inline std::string RowUpdateOf(const std::string& op) {
#define PARTITA_FIND(F) \
  if (op == F::kName) return RowUpdateName<F>();
  PARTITA_ROW_UPDATES(PARTITA_FIND)
#undef PARTITA_FIND
  return "";
}

inline std::vector<std::string> RowUpdateNames() {
  std::vector<std::string> names;
#define PARTITA_NAME(F) names.push_back(RowUpdateName<F>());
  PARTITA_ROW_UPDATES(PARTITA_NAME)
#undef PARTITA_NAME
  return names;
}

// f.operator()<F>() of the update whose op has this name, which must exist.
template <typename Function>
auto WithRowUpdate(const std::string& op, const Function& f) {
#define PARTITA_CALL(F) \
  if (op == RowUpdateName<F>()) return f.template operator()<F>();
  PARTITA_ROW_UPDATES(PARTITA_CALL)
#undef PARTITA_CALL
  CHECK(false);
  return f.template operator()<Sgd>();
}

// Where the op has its scalars: behind those of the update's own op, as there are ids besides.
template <typename F>
inline constexpr size_t kRowsRateInput = kRateInput<F> + 1;

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_UPDATES_ROW_UPDATES_H_
