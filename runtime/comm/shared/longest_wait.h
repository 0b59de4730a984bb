// No wait for a peer is without an end.
//
// A rank may let the others wait for long: while it computes a stage, while it writes a file. So this is far beyond
// what any of that takes; ranks that are gone or stand still are noticed by other means, and sooner.
#ifndef PARTITA_RUNTIME_COMM_SHARED_LONGEST_WAIT_H_
#define PARTITA_RUNTIME_COMM_SHARED_LONGEST_WAIT_H_

#include <chrono>

namespace partita {

inline constexpr std::chrono::milliseconds kLongestWait = std::chrono::minutes(30);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_LONGEST_WAIT_H_
