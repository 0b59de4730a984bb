// The slowdown of ranks that compute on the same cores.
#ifndef PARTITA_PARTITIONER_CLUSTER_SLOWDOWN_H_
#define PARTITA_PARTITIONER_CLUSTER_SLOWDOWN_H_

#include <map>

namespace partita {

// By how many ranks compute at once: how many times as long what a rank computes takes as where it is alone.
using Slowdown = std::map<int, double>;

// Between two numbers of ranks in line, beyond the last in proportion. `slowdown` has that of one rank; `ranks` is 1 or
// more.
double SlowdownOf(const Slowdown& slowdown, int ranks);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTER_SLOWDOWN_H_
