#include "runtime/scores/characters.h"

#include <utf8proc.h>

#include "runtime/base/status.h"

namespace partita {
namespace {

bool IsOfCategory(char32_t character, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return first <= category && category <= last;
}

}  // namespace

absl::StatusOr<std::u32string> Characters(const std::string& text) {
  std::u32string characters;
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  for (utf8proc_ssize_t at = 0; at < size;) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t read = utf8proc_iterate(bytes + at, size - at, &character);
    if (read <= 0) return InvalidArgument("byte {} is no UTF-8", at + 1);
    characters.push_back(static_cast<char32_t>(character));
    at += read;
  }
  return characters;
}

std::string Utf8(const std::u32string& characters) {
  std::string text;
  for (const char32_t character : characters) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
  }
  return text;
}

bool IsNumber(char32_t character) { return IsOfCategory(character, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool IsPunctuation(char32_t character) { return IsOfCategory(character, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }

bool IsSymbol(char32_t character) { return IsOfCategory(character, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }

bool IsSpace(char32_t character) {
  // Control characters that separate: tab to carriage return, those of files and records, next line.
  const bool control = (character >= 0x09 && character <= 0x0d) || (character >= 0x1c && character <= 0x1f);
  return control || character == 0x85 || IsOfCategory(character, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

std::u32string LowerCase(const std::u32string& text) {
  constexpr char32_t kDottedI = 0x130;  // the one character whose small form is two: i and a dot above
  std::u32string lower;
  for (const char32_t character : text) {
    if (character == kDottedI) {
      lower += {U'i', char32_t{0x307}};
    } else {
      lower += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
    }
  }
  return lower;
}

}  // namespace partita
