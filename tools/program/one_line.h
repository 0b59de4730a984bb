// Text for a terminal, whatever it was made from.
#ifndef PARTITA_TOOLS_PROGRAM_ONE_LINE_H_
#define PARTITA_TOOLS_PROGRAM_ONE_LINE_H_

#include <string>
#include <string_view>

namespace partita {

// The text as one line of at most about 4 KiB: control characters, which a terminal would obey, and bytes that are no
// UTF-8 as \xNN; of a longer text the middle is left out. Messages hold paths and flags as they were given.
std::string OneLine(std::string_view text);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_ONE_LINE_H_
