#include "runtime/device/seeded_delay.h"

namespace partita {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014): every bit of the result depends on every bit of x.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

SeededDelay::SeededDelay(const DelayOptions& options, int stream)
    : enabled_(options.seed.has_value() && options.probability > 0 && options.microseconds > 0),
      key_(Mix(Mix(options.seed.value_or(0)) + static_cast<uint64_t>(stream))),
      probability_(options.probability),
      microseconds_(options.microseconds) {}

int SeededDelay::Microseconds(uint64_t task, uint64_t replay) const {
  if (!enabled_) return 0;
  const uint64_t drawn = Mix(Mix(key_ + task) + replay);
  const double uniform = static_cast<double>(drawn >> 11) * 0x1p-53;
  return uniform < probability_ ? 1 + static_cast<int>(Mix(drawn) % static_cast<uint64_t>(microseconds_)) : 0;
}

}  // namespace partita
