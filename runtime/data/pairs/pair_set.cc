#include "runtime/data/pairs/pair_set.h"

#include <xxhash.h>

#include <memory>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<PairSet> ReadPairs(const std::string& source, const std::string& target, const Vocabulary& vocabulary,
                                  EmptyLines empty) {
  PairSet pairs;
  ASSIGN_OR_RETURN(pairs.source, ReadSentences(source, vocabulary, empty));
  ASSIGN_OR_RETURN(pairs.target, ReadSentences(target, vocabulary, empty));
  if (pairs.source.count() == pairs.target.count()) return pairs;
  return InvalidArgument("{}: found {}, {} has {}; each line is the translation of its line there", target,
                         Counted(pairs.target.count(), "line"), source, pairs.source.count());
}

absl::StatusOr<PairSet> ReadSources(const std::string& source, const Vocabulary& vocabulary, EmptyLines empty) {
  PairSet pairs;
  ASSIGN_OR_RETURN(pairs.source, ReadSentences(source, vocabulary, empty));
  pairs.target.path = source;
  pairs.target.ends.resize(pairs.source.ends.size());
  return pairs;
}

uint64_t Digest(const PairSet& pairs) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (const Sentences* const side : {&pairs.source, &pairs.target}) {
    XXH3_64bits_update(state.get(), side->words.data(), side->words.size() * sizeof(side->words[0]));
    XXH3_64bits_update(state.get(), side->ends.data(), side->ends.size() * sizeof(side->ends[0]));
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace partita
