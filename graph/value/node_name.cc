#include "graph/value/node_name.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kLegal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f) {
      escaped += c;
    } else {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

// Letters that are missing, too many, wrong, or two neighbours in the wrong order ("trian").
int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substitution, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// What a word of strategies is called now, if it had another name before.
std::optional<std::string> PresentName(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::pair<const char*, const char*> kRenamed[] = {
      {"reshard", "exchanges"}, {"scatter", "slices"}, {"broadcast", "chain"}};
  for (const auto& [before, now] : kRenamed) {
    if (name == before && std::ranges::find(known, now) != known.end()) return now;
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckNodeName(const std::string& name) {
  if (name.empty()) return InvalidArgument("the name is empty; a name has 1 to {} characters", kLongestName);
  if (name.size() > kLongestName) {
    return InvalidArgument("the name {} has {} characters; at most {} are allowed", Quoted(name), name.size(),
                           kLongestName);
  }
  const size_t wrong = name.find_first_not_of(kLegal);
  if (wrong == std::string::npos) return absl::OkStatus();
  return InvalidArgument("the name {} contains {}; allowed are letters, digits and _ . / -", Quoted(name),
                         Quoted(name.substr(wrong, 1)));
}

std::string Printable(const std::string& text, size_t limit) {
  if (text.size() <= limit) return Escaped(text);
  const size_t tail = limit / 3;
  return fmt::format("{}...{}", Escaped(text.substr(0, limit - tail)), Escaped(text.substr(text.size() - tail)));
}

std::string Quoted(const std::string& text) { return fmt::format("'{}'", Printable(text, 80)); }

std::optional<std::string> NearestName(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kLongestCompared = 64;  // a distance takes time in the product of the lengths
  if (name.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string> nearest;
  int least = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  for (const std::string& candidate : names) {
    if (candidate.size() > kLongestCompared) continue;
    const int distance = EditDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kListed = 100;
  std::optional<std::string> meant = NearestName(name, known);
  if (!meant) meant = PresentName(name, known);
  if (meant) return fmt::format("; did you mean {}?", Quoted(*meant));
  if (known.empty()) return "; none is known here";
  std::string list;
  for (size_t i = 0; i < known.size() && i < kListed; ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", known[i]);
  return fmt::format("; known are: {}{}", list, known.size() > kListed ? ", ..." : "");
}

}  // namespace partita
