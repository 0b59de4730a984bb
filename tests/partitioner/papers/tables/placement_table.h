// Inception-V3 in a worker group of two GPUs: how much faster the best placement of its branches is (docs/papers.md
// 15.2).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_PLACEMENT_TABLE_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_PLACEMENT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Seconds by the roofline, with what a launch takes besides.
struct PlacedPart {
  // Average pools and the 1 x 1 convolutions that read them: as the paper's graph has them, or as ours does
  // (docs/design.md 5.37).
  enum class Pools : uint8_t { kFirst, kLast };

  std::string part;  // forward, step
  Pools pools = Pools::kLast;
  int64_t samples = 0;
  double launch_seconds = 0;
  double alone = 0;    // on one of the devices
  double heft = 0;     // on two, as HEFT places it
  double placed = 0;   // as the search does
  double least = 0;    // than which no placement on two takes less; the same as `placed`: it is the best
  double longest = 0;  // ops that read each other, one after the other: on any number of devices

  double speedup() const { return alone / placed; }
  double gap() const { return placed / least - 1; }
};

// Graphs of a few ops whose best placements are known by hand (docs/papers.md 15.2), a line for each.
absl::StatusOr<std::string> PlaceToys();

// Two V100 of the shipped DGX-1: with 64 samples and as shipped, where a launch takes no time of its own, and with one
// sample and 10 us for each launch; first with pools last, then with pools first.
absl::StatusOr<std::vector<PlacedPart>> PlaceInception();

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_PLACEMENT_TABLE_H_
