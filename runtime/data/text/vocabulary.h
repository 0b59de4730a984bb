// The words that a model of language knows: a text file (words.h) with a word on each line, whose id is the number of
// its line, counted from 0. Two of them may mean something: kUnknown stands for words that are not in the list,
// kEndOfLine for the end of a line.
#ifndef PARTITA_RUNTIME_DATA_TEXT_VOCABULARY_H_
#define PARTITA_RUNTIME_DATA_TEXT_VOCABULARY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

inline constexpr char kUnknown[] = "<unk>";
inline constexpr char kEndOfLine[] = "</s>";

// Immutable.
class Vocabulary {
 public:
  // kInvalidArgument, with the line: one that is empty or has a space in it, a word that was there before; a file
  // without words.
  static absl::StatusOr<Vocabulary> Read(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  std::optional<int32_t> Find(std::string_view word) const;       // none: it is not in the list
  std::string_view Word(int32_t id) const { return words_[id]; }  // of an id below `size`; while this lives

 private:
  std::string path_;
  std::unique_ptr<const std::string> bytes_;  // that the words are in
  std::vector<std::string_view> words_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_VOCABULARY_H_
