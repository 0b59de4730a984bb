// Makes any text safe for a terminal.
#ifndef PARTITA_TOOLS_PROGRAM_ONE_LINE_H_
#define PARTITA_TOOLS_PROGRAM_ONE_LINE_H_

#include <string>
#include <string_view>

namespace partita {

// The text as one line of at most about 4 KiB: control characters, which a terminal would obey, and invalid UTF-8
// become \xNN; a longer text loses its middle. Messages contain paths and flags as the user wrote them.
std::string OneLine(std::string_view text);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_ONE_LINE_H_
