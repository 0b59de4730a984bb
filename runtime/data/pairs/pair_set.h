// A parallel text: sentences and their translations, line by line.
#ifndef PARTITA_RUNTIME_DATA_PAIRS_PAIR_SET_H_
#define PARTITA_RUNTIME_DATA_PAIRS_PAIR_SET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/pairs/sentences.h"
#include "runtime/data/text/vocabulary.h"

namespace partita {

// Pair i is line i + 1 of both files.
struct PairSet {
  Sentences source, target;

  int64_t count() const { return source.count(); }
};

// As ReadSentences; kInvalidArgument as well: files with different numbers of lines.
absl::StatusOr<PairSet> ReadPairs(const std::string& source, const std::string& target, const Vocabulary& vocabulary,
                                  EmptyLines empty = EmptyLines::kRefused);

// Sources alone, for a graph that reads no targets: those have no words.
absl::StatusOr<PairSet> ReadSources(const std::string& source, const Vocabulary& vocabulary,
                                    EmptyLines empty = EmptyLines::kRefused);

// A hash of the sentences: ranks compare it, so that none trains on others.
uint64_t Digest(const PairSet& pairs);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PAIRS_PAIR_SET_H_
