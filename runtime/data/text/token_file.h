// A text as the ids of its words.
#ifndef PARTITA_RUNTIME_DATA_TEXT_TOKEN_FILE_H_
#define PARTITA_RUNTIME_DATA_TEXT_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/text/broken_words.h"
#include "runtime/data/text/vocabulary.h"

namespace partita {

// The words of a text, that stand between spaces: each line that has some ends with kEndOfLine, if the vocabulary has
// it, and a word that the vocabulary has not is kUnknown. kInvalidArgument: such a word, and no kUnknown in the
// vocabulary; no words at all. Line and position of the word, both counted from 1, are named. `broken`, if not null,
// receives the words of broken UTF-8, which become kUnknown.
absl::StatusOr<std::vector<int32_t>> ReadWords(const std::string& path, const Vocabulary& vocabulary,
                                               BrokenWords* broken = nullptr);

// Ids as decimal numbers between spaces, on any lines; none is added. kInvalidArgument: what is no number, or no id of
// the vocabulary; no ids at all.
absl::StatusOr<std::vector<int32_t>> ReadIds(const std::string& path, const Vocabulary& vocabulary);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_TOKEN_FILE_H_
