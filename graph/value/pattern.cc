#include "graph/value/pattern.h"

#include <limits>

namespace partita {

bool MatchesPattern(const std::string& pattern, const std::string& text) {
  int64_t unlimited = std::numeric_limits<int64_t>::max();
  return MatchesPattern(pattern, text, unlimited);
}

bool MatchesPattern(const std::string& pattern, const std::string& text, int64_t& comparisons) {
  size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (--comparisons < 0) return false;
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace partita
