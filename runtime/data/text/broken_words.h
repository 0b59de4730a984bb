// Words of a text that are no UTF-8, so that no vocabulary in UTF-8 has them.
#ifndef PARTITA_RUNTIME_DATA_TEXT_BROKEN_WORDS_H_
#define PARTITA_RUNTIME_DATA_TEXT_BROKEN_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace partita {

// Whether all characters are whole, in their shortest form, and none is a surrogate or beyond U+10FFFF.
bool IsUtf8(std::string_view text);

struct BrokenWords {
  int64_t count = 0;
  int64_t line = 0, position = 0;  // of the first, from 1
  std::string first;

  // Counts a word that the vocabulary has not, if it is no UTF-8.
  void Look(std::string_view word, int64_t line_of_word, int64_t position_of_word);
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_BROKEN_WORDS_H_
