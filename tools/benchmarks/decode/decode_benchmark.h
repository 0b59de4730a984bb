// Measures how fast pictures become what a training batch shows: read, decoded, a random part scaled to the batch's
// size, mirrored.
//
// One thread of ours and one of another program that does the same with the same files run in turns; the result is the
// median of the rounds.
#ifndef PARTITA_TOOLS_BENCHMARKS_DECODE_DECODE_BENCHMARK_H_
#define PARTITA_TOOLS_BENCHMARKS_DECODE_DECODE_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct DecodeBenchmarkOptions {
  std::string folder;     // of pictures by class, or archives; "": made-up ones, of JPEG and of PNG
  int64_t size = 299;     // of what is shown
  int64_t pictures = 64;  // in a round
  int64_t rounds = 7;
  std::vector<std::string> peer_command;  // to which a folder and a size are added; empty: none
};

struct DecodeRow {
  std::string pictures;  // what is decoded
  int64_t size = 0;
  double pictures_per_s = 0;  // of one core
  std::string peer;           // its versions; "": none
  double peer_pictures_per_s = 0;
  double ratio = 0;  // ours to the peer's
};

absl::StatusOr<std::vector<DecodeRow>> BenchmarkDecode(const DecodeBenchmarkOptions& options);

std::string ToText(const std::vector<DecodeRow>& rows);
std::string ToJson(const std::vector<DecodeRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_DECODE_DECODE_BENCHMARK_H_
