// Element-wise ops on single numbers: what an evaluator computes of a whole set's sums (graph/sets/set_results.h).
#ifndef PARTITA_OPS_VALUES_NUMBER_OP_H_
#define PARTITA_OPS_VALUES_NUMBER_OP_H_

#include <span>
#include <string>

namespace partita {

// Whether OnNumbers computes an op of this name.
bool IsOnNumbers(const std::string& op);

// The result of such an op (CHECKed). `factor`: that of `scale`.
double OnNumbers(const std::string& op, double factor, std::span<const double> inputs);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_NUMBER_OP_H_
