// Prints docs/reference/flags.md: the flags of the trainer, from the fields of proto/run.proto.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <string>

#include "proto/run.pb.h"
#include "run/spec/flag.h"
#include "tools/program/flags.h"

namespace partita {
namespace {

constexpr char kHead[] =
    R"(# Flags of the trainer

This table is generated from `proto/run.proto`: `tools/docs --flags` writes it. A flag is an environment variable
(`TRAINER_` and the name in capitals, `_` for `-`) and a key of a `--config` file as well
(docs/reference/commands.md 2).
)";

// The bar of a table must not end a cell.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string Written(const FlagDefinition& flag) {
  const std::string name =
      flag.type == FlagType::kBool ? "--" + flag.name : fmt::format("--{}={}", flag.name, FlagPlaceholder(flag));
  return fmt::format("`{}`", Cell(name));
}

std::string DefaultOf(const FlagDefinition& flag) {
  return flag.type == FlagType::kBool || flag.default_value.empty() ? "" : fmt::format("`{}`", flag.default_value);
}

// The flag's help, and how it differs in some commands.
std::string Meaning(const FlagDefinition& flag) {
  std::string text = flag.help;
  for (const FlagVariant& variant : flag.path.back()->options().GetExtension(partita::flag).variants()) {
    std::string commands = variant.commands();
    for (size_t blank = commands.find(' '); blank != std::string::npos; blank = commands.find(' ', blank + 2)) {
      commands.replace(blank, 1, ", ");
    }
    text += fmt::format(". In {}: {}", commands, variant.help());
    if (!variant.default_value().empty()) text += fmt::format(" (default {})", variant.default_value());
  }
  return text;
}

std::string Table() {
  std::string text = kHead, heading;
  for (const FlagDefinition& flag : FlagsOf(*RunSpec::descriptor())) {
    if (flag.group != heading) {
      text += fmt::format("\n## {}\n\n| flag | default | meaning | commands |\n|---|---|---|---|\n", flag.group);
      heading = flag.group;
    }
    const std::string commands = flag.commands.empty() ? "all" : fmt::format("{}", fmt::join(flag.commands, ", "));
    text += fmt::format("| {} | {} | {} | {} |\n", Written(flag), DefaultOf(flag), Cell(Meaning(flag)), commands);
  }
  return text;
}

}  // namespace
}  // namespace partita

int main() { std::fputs(partita::Table().c_str(), stdout); }
