#include "runtime/checkpoint/name_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace partita {
namespace {

// The byte that stands at text[at], of one or three characters, and where the next one begins.
std::optional<char> TakeByte(std::string_view text, size_t& at) {
  if (text[at] != '%') return text[at++];
  uint8_t byte = 0;
  if (at + 3 > text.size()) return std::nullopt;
  const char* const digits = text.data() + at + 1;
  const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
  if (error != std::errc() || end != digits + 2) return std::nullopt;
  at += 3;
  return static_cast<char>(byte);
}

}  // namespace

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += '/';
    for (const char c : name) {
      const auto byte = static_cast<uint8_t>(c);
      const bool plain = byte >= 0x20 && byte < 0x7f && c != '%';
      text += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
  }
  return text;
}

std::optional<std::vector<std::string>> SplitNames(std::string_view text) {
  std::vector<std::string> names(1);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '/') {
      names.emplace_back();
      ++at;
      continue;
    }
    const std::optional<char> byte = TakeByte(text, at);
    if (!byte) return std::nullopt;
    names.back() += *byte;
  }
  for (const std::string& name : names) {
    if (name.empty()) return std::nullopt;
  }
  return names;
}

}  // namespace partita
