#include "ops/values/number_op.h"

#include <algorithm>
#include <numeric>

#include "ops/functors/elementwise.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

// Ops that only give their input another shape or type.
constexpr const char* kSameNumber[] = {"cast", "expand", "reshape", "slice", "stop_gradient", "transpose"};

bool KeepsNumber(const std::string& op) { return std::ranges::find(kSameNumber, op) != std::end(kSameNumber); }

}  // namespace

bool IsOnNumbers(const std::string& op) {
  return op == "add" || op == "scale" || op == "over" || KeepsNumber(op) || PlaceOf(UnaryOps(), op) >= 0 ||
         PlaceOf(PairOps(), op) >= 0;
}

double OnNumbers(const std::string& op, double factor, std::span<const double> inputs) {
  CHECK(IsOnNumbers(op) && !inputs.empty());
  if (op == "add") return std::accumulate(inputs.begin(), inputs.end(), 0.0);
  if (op == "scale") return factor * inputs[0];
  if (KeepsNumber(op)) return inputs[0];
  if (const int unary = PlaceOf(UnaryOps(), op); unary >= 0) {
    return AtPlace(UnaryOps(), unary, [&]<typename F>() { return F::Value(inputs[0]); });
  }
  CHECK(inputs.size() == 2);
  if (op == "over") return inputs[0] / inputs[1];
  return AtPlace(PairOps(), PlaceOf(PairOps(), op), [&]<typename F>() { return F::Value(inputs[0], inputs[1]); });
}

}  // namespace partita
