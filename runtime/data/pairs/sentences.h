// One side of a parallel text as ids: a sentence on each line.
#ifndef PARTITA_RUNTIME_DATA_PAIRS_SENTENCES_H_
#define PARTITA_RUNTIME_DATA_PAIRS_SENTENCES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/text/broken_words.h"
#include "runtime/data/text/vocabulary.h"

namespace partita {

// The first words of a vocabulary of parallel texts, whose ids are their places here.
inline constexpr const char* kPairMarks[] = {"<pad>", kUnknown, "<s>", kEndOfLine};
enum PairMark : int32_t { kPaddingId, kUnknownId, kBeginId, kEndId };

// kInvalidArgument: another word stands where one of the marks should; the line is named.
absl::Status CheckPairMarks(const Vocabulary& vocabulary);

struct Sentences {
  std::string path;            // that they are from; sentence i is its line i + 1
  std::vector<int32_t> words;  // of all sentences, one behind the other
  std::vector<int64_t> ends;   // of each sentence in `words`
  BrokenWords broken;          // of those that are kUnknown

  int64_t count() const { return static_cast<int64_t>(ends.size()); }
  std::span<const int32_t> operator[](int64_t sentence) const {
    const int64_t begin = sentence == 0 ? 0 : ends[sentence - 1];
    return std::span(words).subspan(static_cast<size_t>(begin), static_cast<size_t>(ends[sentence] - begin));
  }
};

enum class EmptyLines { kRefused, kAllowed };

// The words of each line, that stand between spaces; one that the vocabulary has not is kUnknown. kInvalidArgument,
// with line and position from 1: a line without words where that is not allowed, a mark other than kUnknown in it, no
// lines.
absl::StatusOr<Sentences> ReadSentences(const std::string& path, const Vocabulary& vocabulary,
                                        EmptyLines empty = EmptyLines::kRefused);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PAIRS_SENTENCES_H_
