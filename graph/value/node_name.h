// Names that users give to nodes, and how any text from a file is put into a message.
#ifndef PARTITA_GRAPH_VALUE_NODE_NAME_H_
#define PARTITA_GRAPH_VALUE_NODE_NAME_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

inline constexpr size_t kLongestName = 4096;  // bytes

// Refuses a name that is empty, longer than kLongestName, or has a character other than letters, digits and _ . / -
// ('@' is kept for generated names; spaces, '%' and brackets would break the text form).
absl::Status CheckNodeName(const std::string& name);

// The text made safe for a terminal and of bounded length: bytes other than printable ASCII become \xNN, and the middle
// of a text longer than `limit` bytes is dropped.
std::string Printable(const std::string& text, size_t limit);

// The same in quotes, at most 80 bytes of it.
std::string Quoted(const std::string& text);

// The name in `names` nearest to `name` by edit distance, if it is near enough to be a slip of the pen.
std::optional<std::string> NearestName(const std::string& name, const std::vector<std::string>& names);

// "; did you mean 'conv2d'?", or else "; known are: a, b, c" (of a long list the beginning).
std::string Suggestion(const std::string& name, const std::vector<std::string>& known);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_NODE_NAME_H_
