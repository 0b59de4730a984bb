#include "runtime/data/pairs/sentences.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "graph/value/node_name.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "runtime/data/text/words.h"

namespace partita {
namespace {

constexpr int64_t kLargest = int64_t{1} << 40;  // bytes

bool IsMark(int32_t id) { return id < static_cast<int32_t>(std::size(kPairMarks)) && id != kUnknownId; }

// Adds the words of line `number`.
absl::Status AddSentence(std::string_view line, int64_t number, const Vocabulary& vocabulary, EmptyLines empty,
                         Sentences& sentences) {
  const auto place = [&] { return fmt::format("{}: line {}", sentences.path, number); };
  int64_t position = 0;
  for (std::string_view word = NextWord(line); !word.empty(); word = NextWord(line)) {
    ++position;
    const std::optional<int32_t> known = vocabulary.Find(word);
    if (!known) sentences.broken.Look(word, number, position);
    const int32_t id = known.value_or(kUnknownId);
    if (IsMark(id)) {
      return InvalidArgument("{}, position {}: found {}, a mark that a text may not have", place(), position,
                             std::string(word));
    }
    sentences.words.push_back(id);
  }
  if (position == 0 && empty == EmptyLines::kRefused) {
    return InvalidArgument("{}: found no words; expected at least one: remove the line, and its line in the other file",
                           place());
  }
  sentences.ends.push_back(static_cast<int64_t>(sentences.words.size()));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPairMarks(const Vocabulary& vocabulary) {
  for (int32_t id = 0; id < static_cast<int32_t>(std::size(kPairMarks)); ++id) {
    if (vocabulary.Find(kPairMarks[id]) == id) continue;
    return InvalidArgument("{}: line {}: found another word than {}; parallel texts need {}, {}, {} and {} first",
                           vocabulary.path(), id + 1, kPairMarks[id], kPairMarks[kPaddingId], kPairMarks[kUnknownId],
                           kPairMarks[kBeginId], kPairMarks[kEndId]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Sentences> ReadSentences(const std::string& path, const Vocabulary& vocabulary, EmptyLines empty) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(path, kLargest));
  // A word and the space behind it are two bytes at least; an empty line is one.
  const size_t most = std::max(bytes.size() / 2 * (sizeof(int32_t) + sizeof(int64_t)), bytes.size() * sizeof(int64_t));
  RETURN_IF_ERROR(CheckMemory(path, static_cast<int64_t>(most)));
  Sentences sentences;
  sentences.path = path;
  std::string_view rest = bytes;
  for (int64_t line = 1; !rest.empty(); ++line) {
    RETURN_IF_ERROR(AddSentence(NextLine(rest), line, vocabulary, empty, sentences));
  }
  if (sentences.count() == 0) return InvalidArgument("{}: found no lines", path);
  return sentences;
}

}  // namespace partita
