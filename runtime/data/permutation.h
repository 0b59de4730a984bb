// The order of the samples in an epoch.
#ifndef PARTITA_RUNTIME_DATA_PERMUTATION_H_
#define PARTITA_RUNTIME_DATA_PERMUTATION_H_

#include <cstdint>
#include <vector>

namespace partita {

// A permutation of 0 .. count-1 that depends only on its arguments: Fisher-Yates (Knuth, TAOCP 2, 3.4.2, algorithm P)
// with a 64-bit Philox number for each exchange. It is over the whole set; ranks take parts of it, never one of their
// own.
std::vector<uint32_t> EpochPermutation(uint64_t seed, int64_t epoch, int64_t count);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PERMUTATION_H_
