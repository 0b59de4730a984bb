// Processor time of this process, so that other programs disturb a measurement little.
#ifndef PARTITA_TOOLS_BENCHMARKS_PROCESSOR_TIME_H_
#define PARTITA_TOOLS_BENCHMARKS_PROCESSOR_TIME_H_

#include <ctime>

namespace partita {

inline double ProcessorMilliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What the phase returns; what it took is added to `milliseconds`.
template <typename Phase>
auto Timed(double& milliseconds, const Phase& phase) {
  const double begin = ProcessorMilliseconds();
  auto result = phase();
  milliseconds += ProcessorMilliseconds() - begin;
  return result;
}

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_PROCESSOR_TIME_H_
