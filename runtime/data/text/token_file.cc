#include "runtime/data/text/token_file.h"

#include <optional>
#include <string_view>

#include "graph/value/node_name.h"
#include "runtime/base/memory.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "runtime/data/text/words.h"

namespace partita {
namespace {

constexpr int64_t kLargest = int64_t{1} << 40;  // bytes

// The ids of a text. `id_of` says the id of a word on a line, at a position, or an error without the place; `end`: the
// id behind each line.
template <typename IdOf>
absl::StatusOr<std::vector<int32_t>> Read(const std::string& path, std::optional<int32_t> end, const IdOf& id_of) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(path, kLargest));
  // A word and the space behind it are two bytes at least.
  RETURN_IF_ERROR(CheckMemory(path, static_cast<int64_t>(bytes.size() / 2 * sizeof(int32_t))));
  std::vector<int32_t> ids;
  std::string_view rest = bytes;
  for (int64_t line = 1; !rest.empty(); ++line) {
    std::string_view words = NextLine(rest);
    int64_t position = 0;
    for (std::string_view word = NextWord(words); !word.empty(); word = NextWord(words)) {
      ++position;
      const absl::StatusOr<int32_t> id = id_of(word, line, position);
      if (!id.ok()) return WithContext(fmt::format("{}: line {}, position {}", path, line, position), id.status());
      ids.push_back(*id);
    }
    if (position > 0 && end) ids.push_back(*end);
  }
  if (ids.empty()) return InvalidArgument("{}: found no words", path);
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> ReadWords(const std::string& path, const Vocabulary& vocabulary,
                                               BrokenWords* broken) {
  const std::optional<int32_t> unknown = vocabulary.Find(kUnknown);
  const auto id_of = [&](std::string_view word, int64_t line, int64_t position) -> absl::StatusOr<int32_t> {
    if (const std::optional<int32_t> id = vocabulary.Find(word)) return *id;
    if (unknown && broken != nullptr) broken->Look(word, line, position);
    if (unknown) return *unknown;
    return InvalidArgument("found {}, which {} has not; nor has it {}, which would stand for it",
                           Quoted(std::string(word)), vocabulary.path(), kUnknown);
  };
  return Read(path, vocabulary.Find(kEndOfLine), id_of);
}

absl::StatusOr<std::vector<int32_t>> ReadIds(const std::string& path, const Vocabulary& vocabulary) {
  return Read(path, std::nullopt, [&](std::string_view word, int64_t, int64_t) -> absl::StatusOr<int32_t> {
    const std::optional<int64_t> id = NumberOf<int64_t>(word);
    if (id && *id >= 0 && *id < vocabulary.size()) return static_cast<int32_t>(*id);
    return InvalidArgument("found {}, ids are 0 to {}", id ? std::string(word) : Quoted(std::string(word)),
                           vocabulary.size() - 1);
  });
}

}  // namespace partita
