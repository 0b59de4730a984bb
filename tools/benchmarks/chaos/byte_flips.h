// Whether damage of a checkpoint is found: one bit of one byte of its files, again and again.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_BYTE_FLIPS_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_BYTE_FLIPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/chaos/tally.h"

namespace partita {

struct ByteFlips {
  Tally in_record, in_heads, in_tensors;
  // A sentence for each that was not refused, or refused without the file's name, or, within a tensor, without its.
  std::vector<std::string> missed;

  int64_t count() const { return in_record.count + in_heads.count + in_tensors.count; }
};

// Of a checkpoint that is whole, and is so again at the end. Places are drawn from the seed, a tenth of them in the
// record. kInvalidArgument: the checkpoint cannot be read as it is.
absl::StatusOr<ByteFlips> FlipBytes(const std::string& checkpoint, int64_t count, uint64_t seed);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_BYTE_FLIPS_H_
