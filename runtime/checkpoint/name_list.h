// Names of any bytes but '/' as one text that a model file's metadata can hold: "cat/dog/r%C3%BCbe".
#ifndef PARTITA_RUNTIME_CHECKPOINT_NAME_LIST_H_
#define PARTITA_RUNTIME_CHECKPOINT_NAME_LIST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

// Slashes between them; what is not printable ASCII, and '%', is % and two hexadecimal digits.
std::string JoinNames(const std::vector<std::string>& names);

// None: it is no such text, or one of the names is empty.
std::optional<std::vector<std::string>> SplitNames(std::string_view text);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_NAME_LIST_H_
