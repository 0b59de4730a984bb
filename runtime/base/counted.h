// Numbers of things in sentences.
#ifndef PARTITA_RUNTIME_BASE_COUNTED_H_
#define PARTITA_RUNTIME_BASE_COUNTED_H_

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace partita {

// "1 rank", "3 ranks"; "2 batches", "2 axes", "2 entries".
template <typename Count>
std::string Counted(Count count, std::string_view one) {
  if (count == 1) return fmt::format("1 {}", one);
  const auto but = [&](size_t last) { return one.substr(0, one.size() - last); };
  if (one.ends_with("ch") || one.ends_with("ss") || one.ends_with("sh")) return fmt::format("{} {}es", count, one);
  if (one.ends_with("is")) return fmt::format("{} {}es", count, but(2));
  if (one.ends_with("ry")) return fmt::format("{} {}ies", count, but(1));
  return fmt::format("{} {}s", count, one);
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_COUNTED_H_
