// Counts faults, and those after which all was as promised.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_TALLY_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_TALLY_H_

#include <cstdint>

namespace partita {

struct Tally {
  int64_t count = 0, kept = 0;

  void Add(bool as_promised) {
    ++count;
    kept += as_promised;
  }
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_TALLY_H_
