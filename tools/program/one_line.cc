#include "tools/program/one_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace partita {
namespace {

constexpr size_t kLongest = 4096, kHead = 3072;

bool Continues(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

// Bytes of the UTF-8 character that `text` begins with, if it may be shown; 0: its first byte may not.
size_t Shown(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<int64_t>(length), Continues)) return 0;
  // The second row of control characters, U+0080 to U+009F.
  return first == 0xc2 && static_cast<uint8_t>(text[1]) < 0xa0 ? 0 : length;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t length = Shown(text);
    if (length > 0) {
      escaped += text.substr(0, length);
    } else {
      escaped += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return escaped;
}

}  // namespace

std::string OneLine(std::string_view text) {
  if (text.size() <= kLongest) return Escaped(text);
  size_t head = kHead, tail = text.size() - (kLongest - kHead);
  while (head > 0 && Continues(text[head])) --head;
  while (tail < text.size() && Continues(text[tail])) ++tail;
  return fmt::format("{} ... {}", Escaped(text.substr(0, head)), Escaped(text.substr(tail)));
}

}  // namespace partita
