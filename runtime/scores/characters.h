// Text as characters, for what a rule says of kinds of them.
#ifndef PARTITA_RUNTIME_SCORES_CHARACTERS_H_
#define PARTITA_RUNTIME_SCORES_CHARACTERS_H_

#include <string>

#include "absl/status/statusor.h"

namespace partita {

// UTF-8. kInvalidArgument: bytes that are none; the first one is named, counted from 1.
absl::StatusOr<std::u32string> Characters(const std::string& text);
std::string Utf8(const std::u32string& characters);

// By Unicode's general category.
bool IsNumber(char32_t character);
bool IsPunctuation(char32_t character);
bool IsSymbol(char32_t character);
// White space of any kind, line ends and no-break spaces among it.
bool IsSpace(char32_t character);

// By Unicode's full mapping, but for what a character's neighbours decide (a sigma at a word's end).
std::u32string LowerCase(const std::u32string& text);

}  // namespace partita

#endif  // PARTITA_RUNTIME_SCORES_CHARACTERS_H_
