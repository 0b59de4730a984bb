// Formats the help of flags: lines of at most 80 columns, by group, with defaults.
#ifndef PARTITA_TOOLS_PROGRAM_FLAG_HELP_H_
#define PARTITA_TOOLS_PROGRAM_FLAG_HELP_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/program/flags.h"

namespace partita {

// `full`: also what is allowed, and the environment variable.
std::string FlagHelp(const std::vector<FlagDefinition>& flags, bool full, const std::string& program);

// "  name   text", the text in a column of its own from `column` on, broken between words where a line would be longer
// than 80 columns; it begins below a name that reaches into the column.
std::string HelpEntry(const std::string& name, size_t column, std::string_view text);

// The text, broken between words where a line would be longer than 80 columns.
std::string HelpParagraph(std::string_view text);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_FLAG_HELP_H_
