// Numbers in texts: read, and written with what they count.
#ifndef PARTITA_RUNTIME_BASE_NUMBER_H_
#define PARTITA_RUNTIME_BASE_NUMBER_H_

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
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

// "1 rank", "3 ranks"; "2 batches", "2 axes", "2 entries".
template <typename Count>
std::string Counted(Count count, std::string_view one) {
  if (count == 1) return fmt::format("1 {}", one);
  const auto but = [&](size_t last) { return one.substr(0, one.size() - last); };
  if ((one.ends_with("ch") && !one.ends_with("och")) || one.ends_with("ss") || one.ends_with("sh"))
    return fmt::format("{} {}es", count, one);
  if (one.ends_with("is")) return fmt::format("{} {}es", count, but(2));
  if (one.ends_with("ry")) return fmt::format("{} {}ies", count, but(1));
  return fmt::format("{} {}s", count, one);
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_NUMBER_H_
