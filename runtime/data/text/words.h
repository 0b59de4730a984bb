// Lines of a text (runtime/base/text_file.h), and words of a line: what is between spaces and tabs. Editors of Windows
// end a line with \r\n, which is no part of a word.
#ifndef PARTITA_RUNTIME_DATA_TEXT_WORDS_H_
#define PARTITA_RUNTIME_DATA_TEXT_WORDS_H_

#include <algorithm>
#include <string_view>

namespace partita {

inline constexpr char kSpaces[] = " \t\r\f\v";

// The first line of `rest`, without its end, by which `rest` gets shorter.
inline std::string_view NextLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The same of the first word of a line; empty: there is none any more.
inline std::string_view NextWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_TEXT_WORDS_H_
