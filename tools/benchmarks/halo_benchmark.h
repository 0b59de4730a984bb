// Measures how much overlap hides of halo exchanges: training steps of a shipped model whose images are split by rows,
// with convolutions whole and in interior and boundary (graph/lower/split_at_halos.h), in turns in one run. They run on
// the host as it is, and with the starts of launches and exchanges delayed at random, as on a slower network with
// uneven ranks.
#ifndef PARTITA_TOOLS_BENCHMARKS_HALO_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_HALO_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct HaloBenchmarkOptions {
  std::string model = "mini-inception";
  int64_t batch = 32;
  int64_t image_size = 56;
  int ranks = 2;
  int64_t steps = 4;  // of one case in one round
  int64_t rounds = 7;
  double seconds = 20;  // after which no further round begins; one is always made
};

// Times are of a step: medians over the rounds. `in_flight` and `exposed` are of one rank, the mean of all ranks: how
// long halo exchanges, forward and back, were running, and how long they were while nothing else ran on the rank.
struct HaloRow {
  std::string model;
  int ranks = 1;
  bool delayed = false;
  std::string overlap;       // "off", "auto", "on"
  int64_t convolutions = 0;  // in parts, all ranks together
  int64_t rounds = 0;        // that were made
  double step_ms = 0;
  double ratio = 0;  // step time with overlap off over this one's, median of the rounds' ratios
  double in_flight_ms = 0;
  double exposed_ms = 0;
};

absl::StatusOr<std::vector<HaloRow>> BenchmarkHalo(const HaloBenchmarkOptions& options);

// One row per line as text, or a JSON array with the members of HaloRow.
std::string ToText(const std::vector<HaloRow>& rows);
std::string ToJson(const std::vector<HaloRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_HALO_BENCHMARK_H_
