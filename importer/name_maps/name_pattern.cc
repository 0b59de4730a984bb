#include "importer/name_maps/name_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostDigits = 9;

std::optional<int64_t> NumberIn(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

size_t DigitsAtFront(std::string_view text) {
  size_t count = 0;
  while (count < std::min(text.size(), kMostDigits) && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

}  // namespace

absl::StatusOr<NamePattern> NamePattern::Parse(std::string_view text, const NameTables& tables) {
  NamePattern pattern;
  const std::string whole(text);
  while (true) {
    const size_t open = text.find('{');
    Piece piece{std::string(text.substr(0, open))};
    if (piece.literal.find('}') != std::string::npos)
      return InvalidArgument("name {} has a '}}' too many", Quoted(whole));
    if (open == std::string_view::npos) {
      pattern.pieces_.push_back(std::move(piece));
      return pattern;
    }
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos)
      return InvalidArgument("name {} has a '{{' that does not close", Quoted(whole));
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const size_t sign = inside.find_first_of("+-");
    piece.place = inside.substr(0, sign);
    const bool is_word = !piece.place.empty() && std::ranges::all_of(piece.place, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    });
    if (sign != std::string_view::npos) {
      const std::optional<int64_t> added = NumberIn(inside.substr(sign + 1));
      if (!added) return InvalidArgument("name {}: {} adds no number", Quoted(whole), Quoted(std::string(inside)));
      piece.added = inside[sign] == '-' ? -*added : *added;
    }
    if (!is_word) {
      return InvalidArgument("name {}: found {} in braces; expected a word, or a word and a number to add",
                             Quoted(whole), Quoted(std::string(inside)));
    }
    if (const auto table = tables.find(piece.place); table != tables.end()) piece.table = table->second;
    pattern.pieces_.push_back(std::move(piece));
    text.remove_prefix(close + 1);
  }
}

std::optional<NameParts> NamePattern::Match(std::string_view name) const {
  NameParts parts;
  if (!MatchFrom(0, name, parts)) return std::nullopt;
  return parts;
}

bool NamePattern::MatchFrom(size_t at, std::string_view rest, NameParts& parts) const {
  const Piece& piece = pieces_[at];
  if (!rest.starts_with(piece.literal)) return false;
  rest.remove_prefix(piece.literal.size());
  if (piece.place.empty()) return rest.empty();
  if (piece.table.empty()) {
    const size_t digits = DigitsAtFront(rest);
    parts[piece.place] = rest.substr(0, digits);
    return digits > 0 && MatchFrom(at + 1, rest.substr(digits), parts);
  }
  for (const auto& [word, other] : piece.table) {
    if (!rest.starts_with(word) || !MatchFrom(at + 1, rest.substr(word.size()), parts)) continue;
    parts[piece.place] = other;
    return true;
  }
  return false;
}

absl::StatusOr<std::string> NamePattern::Make(const NameParts& parts) const {
  std::string name;
  for (const Piece& piece : pieces_) {
    name += piece.literal;
    if (piece.place.empty()) continue;
    const auto part = parts.find(piece.place);
    if (part == parts.end()) return InvalidArgument("the state's name has no {{{}}}", piece.place);
    if (piece.added == 0) {
      name += part->second;
      continue;
    }
    const std::optional<int64_t> number = NumberIn(part->second);
    if (!number || *number + piece.added < 0) {
      return InvalidArgument("{{{}}} is {}, to which {} cannot be added", piece.place, Quoted(part->second),
                             piece.added);
    }
    name += fmt::format("{}", *number + piece.added);
  }
  return name;
}

}  // namespace partita
