#include "runtime/data/text/vocabulary.h"

#include <limits>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "runtime/data/text/words.h"

namespace partita {
namespace {

constexpr int64_t kLargest = int64_t{1} << 32;  // bytes

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, ReadTextFile(path, kLargest));
  Vocabulary vocabulary;
  vocabulary.path_ = path;
  vocabulary.bytes_ = std::make_unique<const std::string>(std::move(bytes));
  std::string_view rest = *vocabulary.bytes_;
  for (int64_t line = 1; !rest.empty(); ++line) {
    const std::string_view word = NextLine(rest);
    if (word.empty() || word.find_first_of(kSpaces) != std::string_view::npos) {
      return InvalidArgument("{}: line {}: found {}, a line has one word", path, line, Quoted(std::string(word)));
    }
    if (vocabulary.size() == std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("{}: line {}: found more words than have ids", path, line);
    }
    vocabulary.words_.push_back(word);
    const auto [before, fresh] = vocabulary.ids_.emplace(word, static_cast<int32_t>(line - 1));
    if (!fresh) {
      return InvalidArgument("{}: line {}: word {} is that of line {}", path, line, Quoted(std::string(word)),
                             before->second + 1);
    }
  }
  if (vocabulary.size() == 0) return InvalidArgument("{}: found no words", path);
  return vocabulary;
}

std::optional<int32_t> Vocabulary::Find(std::string_view word) const {
  const auto found = ids_.find(word);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace partita
