// Which cores of the machine are whose, where several ranks share them.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_CORES_H_
#define PARTITA_RUNTIME_DEVICE_HOST_CORES_H_

#include <span>
#include <vector>

namespace partita {

// The cores that this process may use, by number, ascending; empty: the system does not say.
std::vector<int> AllowedCores();

// Those of the place-th of `shares` equal parts of `cores`, 0 <= place < shares: at least one, and neighbours share one
// where the parts are not whole.
std::vector<int> ShareOf(std::span<const int> cores, int place, int shares);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_CORES_H_
