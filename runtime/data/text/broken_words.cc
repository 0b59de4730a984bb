#include "runtime/data/text/broken_words.h"

#include <cstddef>

namespace partita {
namespace {

// Of the character that begins with `byte`; 0: none does.
size_t BytesOf(uint8_t byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// The bounds of the second byte keep out longer forms than needed, surrogates, and what is beyond U+10FFFF.
bool MayFollow(uint8_t first, uint8_t second) {
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return second >= least && second <= most;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t bytes = BytesOf(first);
    if (bytes == 0 || bytes > text.size() - i) return false;
    if (bytes > 1 && !MayFollow(first, static_cast<uint8_t>(text[i + 1]))) return false;
    for (size_t b = 2; b < bytes; ++b) {
      if ((static_cast<uint8_t>(text[i + b]) & 0xc0) != 0x80) return false;
    }
    i += bytes;
  }
  return true;
}

void BrokenWords::Look(std::string_view word, int64_t line_of_word, int64_t position_of_word) {
  if (IsUtf8(word)) return;
  if (++count > 1) return;
  line = line_of_word;
  position = position_of_word;
  first = word;
}

}  // namespace partita
