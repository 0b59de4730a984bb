// Where a step in single precision may rightly differ from the serial one: at a kink.
#ifndef PARTITA_TESTS_EQUIVALENCE_NEAR_TIE_H_
#define PARTITA_TESTS_EQUIVALENCE_NEAR_TIE_H_

#include <string>

#include "runtime/api/session.h"

namespace partita {

// After a step of a serial f64 session that observes: the name of the first relu whose input has an element, or the
// first max-pool one of whose windows has a gap between its two largest values, that is below 1e-6 of the tensor's
// largest magnitude, but not 0 (equal values are equal in every precision). Empty if there is none.
absl::StatusOr<std::string> FindNearTie(const Session& serial);

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_NEAR_TIE_H_
