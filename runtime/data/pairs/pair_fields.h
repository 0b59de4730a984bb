// The fields of a pair that a graph reads, for teacher forcing: each target is the word that follows the id at its
// place.
//
// Of m words s and n words t, in a row with room for S and T of them; zeros behind:
//
//   source          i32 [S]   s1 ... sm
//   source_lengths  i32       m
//   ids             i32 [T]   <s> t1 ... tn
//   targets         i32 [T]   t1 ... tn </s>
//   weights         [T]       1 at n + 1 places
#ifndef PARTITA_RUNTIME_DATA_PAIRS_PAIR_FIELDS_H_
#define PARTITA_RUNTIME_DATA_PAIRS_PAIR_FIELDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"

namespace partita {

inline constexpr char kSourceField[] = "source", kSourceLengthsField[] = "source_lengths";

// Places of the source and of the target, S and T.
struct PairSize {
  int64_t source = 0, target = 0;

  auto operator<=>(const PairSize&) const = default;
};

// S and T of a graph's fields; no bound of a side that it takes nothing of. kInvalidArgument: a field that it needs and
// that pairs have not, or of another type or form; fields of a side that differ in size; none of pairs at all.
absl::StatusOr<PairSize> PairSizeOf(const std::vector<WantedField>& wanted);

// Whether one of them that is needed is of targets.
bool NeedTargets(const std::vector<WantedField>& wanted);

// Those of `wanted` that pairs have, in a row of this size.
std::vector<Field> PairFields(const std::vector<WantedField>& wanted, const PairSize& size);

struct PairWords {
  std::span<const int32_t> source, target;
};

// A row of one of them. Null: the row only fills a batch up; it has zeros, and a length of 1, so that no mean over its
// source is one over nothing. So has a source without words.
void FillPairField(const Field& field, const PairWords* pair, std::span<std::byte> out);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PAIRS_PAIR_FIELDS_H_
