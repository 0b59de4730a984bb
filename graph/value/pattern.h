// Patterns of names, as entries of a strategy and groups of parameters have them.
#ifndef PARTITA_GRAPH_VALUE_PATTERN_H_
#define PARTITA_GRAPH_VALUE_PATTERN_H_

#include <cstdint>
#include <string>

namespace partita {

// `text` matches `pattern` with '*' and '?'. Linear in both for patterns with one '*'; no recursion.
bool MatchesPattern(const std::string& pattern, const std::string& text);
// The same; takes the characters it compares from `comparisons` and is false when these are used up.
bool MatchesPattern(const std::string& pattern, const std::string& text, int64_t& comparisons);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_PATTERN_H_
