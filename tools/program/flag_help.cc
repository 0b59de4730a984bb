#include "tools/program/flag_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "run/spec/flag.h"

namespace partita {
namespace {

constexpr size_t kWidth = 80, kColumn = 26;

// Lines of at most `width` characters; a word that is longer has a line of its own.
std::vector<std::string> Lines(std::string_view text, size_t width) {
  std::vector<std::string> lines = {""};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

// "--format=text|json"; choices that would not fit are told in the text.
std::string NameOf(const FlagDefinition& flag, bool& chosen_in_text) {
  if (flag.type == FlagType::kBool) return "--" + flag.name;
  std::string name = fmt::format("--{}={}", flag.name, FlagPlaceholder(flag));
  chosen_in_text = name.size() + 2 > kWidth;
  return chosen_in_text ? fmt::format("--{}=NAME", flag.name) : name;
}

std::string Entry(const FlagDefinition& flag, bool full, const std::string& program) {
  bool chosen_in_text = false;
  const std::string name = NameOf(flag, chosen_in_text);
  std::string text = flag.help;
  if (chosen_in_text && !full) text += fmt::format("; one of {}", fmt::join(flag.choices, ", "));
  const bool has_default = flag.type != FlagType::kBool && !flag.default_value.empty();
  if (has_default) text += fmt::format(" (default {})", flag.default_value);
  if (full) text += fmt::format("; {}; {}", FlagRange(flag), FlagVariable(program, flag.name));
  return HelpEntry(name, kColumn, text);
}

}  // namespace

std::string HelpEntry(const std::string& name, size_t column, std::string_view text) {
  std::string entry = fmt::format("  {:<{}}", name, column - 2);
  if (name.size() + 2 >= column) entry = fmt::format("  {}\n{:{}}", name, "", column);
  return entry + fmt::format("{}\n", fmt::join(Lines(text, kWidth - column), fmt::format("\n{:{}}", "", column)));
}

std::string HelpParagraph(std::string_view text) { return fmt::format("{}\n", fmt::join(Lines(text, kWidth), "\n")); }

std::string FlagHelp(const std::vector<FlagDefinition>& flags, bool full, const std::string& program) {
  std::string text, group;
  for (const FlagDefinition& flag : flags) {
    if (flag.group != group) text += fmt::format("\n{}\n", flag.group);
    group = flag.group;
    text += Entry(flag, full, program);
  }
  return text;
}

}  // namespace partita
