// Numbers in texts.
#ifndef PARTITA_RUNTIME_BASE_NUMBER_H_
#define PARTITA_RUNTIME_BASE_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>

namespace partita {

// The number that the text is; none: something else stands in it, or the number is no T.
template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_NUMBER_H_
