// Delays of a stream's work that a seed decides: a wait that is missing then shows as a wrong result.
#ifndef PARTITA_RUNTIME_DEVICE_SEEDED_DELAY_H_
#define PARTITA_RUNTIME_DEVICE_SEEDED_DELAY_H_

#include <cstdint>
#include <optional>

namespace partita {

// Each task is delayed with this probability, by up to this number of microseconds. Whether and how long depends only
// on seed, stream (in order of creation), task and replay number.
struct DelayOptions {
  std::optional<uint64_t> seed = std::nullopt;  // unset: nothing is delayed
  double probability = 1.0 / 16;
  int microseconds = 200;
};

class SeededDelay {
 public:
  SeededDelay(const DelayOptions& options, int stream);

  bool enabled() const { return enabled_; }

  // A delay in microseconds; 0: none.
  int Microseconds(uint64_t task, uint64_t replay) const;

 private:
  bool enabled_;
  uint64_t key_;
  double probability_;
  int microseconds_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_SEEDED_DELAY_H_
