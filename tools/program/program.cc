#include "tools/program/program.h"

#include <algorithm>
#include <exception>
#include <new>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "tools/program/exit_code.h"
#include "tools/program/one_line.h"
#include "tools/program/program_help.h"
#include "tools/program/unknown_variables.h"

namespace partita {
namespace {

// Every command has these.
const std::vector<FlagDefinition>& CommonFlags() {
  static const auto& flags = *new std::vector<FlagDefinition>{[] {
    std::vector<FlagDefinition> list = {BoolFlag("help", "this text"), BoolFlag("help-all", "all that flags can be"),
                                        PathFlag("config", "flags as lines `name = value`"),
                                        BoolFlag("dump-config", "print the flags as a --config file and stop")};
    for (FlagDefinition& flag : list) flag.group = "General";
    return list;
  }()};
  return flags;
}

std::vector<FlagDefinition> FlagsOf(const ProgramDefinition& program, const Command& command) {
  std::vector<FlagDefinition> flags;
  for (const FlagDefinition& flag : program.flags) {
    const auto& names = command.flags;
    if (std::find(names.begin(), names.end(), flag.name) == names.end()) continue;
    flags.push_back(flag);
    const auto choices = command.choices.find(flag.name);
    if (choices != command.choices.end()) flags.back().choices = choices->second;
  }
  CHECK(flags.size() == command.flags.size());
  flags.insert(flags.end(), CommonFlags().begin(), CommonFlags().end());
  return flags;
}

int Fail(const ProgramDefinition& program, const absl::Status& status, std::ostream& error) {
  error << program.name << ": " << OneLine(std::string_view(status.message().data(), status.message().size())) << "\n";
  return ToExitCode(status);
}

absl::Status FlagBeforeCommand(const ProgramDefinition& program, const std::string& flag) {
  const auto meant = NearestName(flag, {"--help", "--version"});
  if (meant) return FlagError("flag {} is unknown; did you mean {}?", Quoted(flag), Quoted(*meant));
  return FlagError("{} stands before the command: {} COMMAND [flags]", Quoted(flag), program.name);
}

absl::StatusOr<const Command*> FindCommand(const ProgramDefinition& program, const std::string& name) {
  std::vector<std::string> names = {"help"};
  for (const Command& command : program.commands) {
    if (command.name == name) return &command;
    names.push_back(command.name);
  }
  if (name.compare(0, 1, "-") == 0) return FlagBeforeCommand(program, name);
  return FlagError("command {} is unknown{}", Quoted(name), Suggestion(name, names));
}

absl::Status CheckArguments(const Command& command, const Flags& flags) {
  const size_t expected = command.argument.empty() ? 0 : 1;
  if (flags.arguments().size() == expected) return absl::OkStatus();
  if (flags.arguments().empty()) return FlagError("{} needs an argument: {}", command.name, command.argument);
  return FlagError("{} takes {}; found {}: {}", command.name,
                   expected == 0 ? "no argument" : "one argument (" + command.argument + ")", flags.arguments().size(),
                   Quoted(flags.arguments()[expected]));
}

std::vector<FlagDefinition> AllFlags(const ProgramDefinition& program) {
  std::vector<FlagDefinition> all = program.flags;
  all.insert(all.end(), CommonFlags().begin(), CommonFlags().end());
  return all;
}

absl::StatusOr<int> RunCommand(const ProgramDefinition& program, const Command& command,
                               const std::vector<std::string>& arguments, const FlagEnvironment& environment,
                               std::ostream& out) {
  const auto parse = [&](const std::vector<std::string>& line) -> absl::StatusOr<Flags> {
    ASSIGN_OR_RETURN(const Command* const other, FindCommand(program, line[0]));
    return Flags::Parse(FlagsOf(program, *other), AllFlags(program), {line.begin() + 1, line.end()}, environment);
  };
  auto end = arguments.end();
  if (command.passes_on) end = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> own(arguments.begin(), end);
  ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(FlagsOf(program, command), AllFlags(program), own, environment));
  if (flags.Bool("help") || flags.Bool("help-all")) {
    out << CommandUsage(program, command, FlagsOf(program, command), flags.Bool("help-all"));
    return kExitFinished;
  }
  if (flags.Bool("dump-config")) {
    out << flags.ToConfig();
    return kExitFinished;
  }
  RETURN_IF_ERROR(CheckArguments(command, flags));
  const std::vector<std::string> rest(end == arguments.end() ? end : end + 1, arguments.end());
  return command.run({flags, out, rest, parse});
}

bool AsksForHelp(const std::string& word) {
  return word == "help" || word == "-h" || word == "--help" || word == "--help-all";
}

// `help`, `help COMMAND`; however often help is asked for.
absl::StatusOr<int> Help(const ProgramDefinition& program, std::vector<std::string> arguments, std::ostream& out) {
  std::erase_if(arguments, AsksForHelp);
  if (arguments.size() > 1) return FlagError("help takes one command; found {}: {}", arguments.size(), arguments[1]);
  if (arguments.empty()) {
    out << Usage(program);
    return kExitFinished;
  }
  ASSIGN_OR_RETURN(const Command* const command, FindCommand(program, arguments[0]));
  out << CommandUsage(program, *command, FlagsOf(program, *command), false);
  return kExitFinished;
}

absl::StatusOr<int> Obey(const ProgramDefinition& program, const std::vector<std::string>& arguments,
                         const FlagEnvironment& environment, std::ostream& out, std::ostream& error) {
  const std::string& first = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (AsksForHelp(first)) return Help(program, rest, out);
  if (first == "--version") {
    out << VersionLine(program);
    return kExitFinished;
  }
  ASSIGN_OR_RETURN(const Command* const command, FindCommand(program, first));
  for (const std::string& warning : UnknownVariables(AllFlags(program), environment)) {
    error << program.name << ": warning: " << warning << "\n";
  }
  return OrExhausted(command->name.c_str(), [&] { return RunCommand(program, *command, rest, environment, out); });
}

int Run(const ProgramDefinition& program, const std::vector<std::string>& arguments, const FlagEnvironment& environment,
        std::ostream& out, std::ostream& error) {
  if (arguments.empty()) {
    error << Usage(program);
    return kExitFlags;
  }
  const absl::StatusOr<int> code = Obey(program, arguments, environment, out, error);
  out.flush();
  return code.ok() ? *code : Fail(program, code.status(), error);
}

}  // namespace

int RunProgram(const ProgramDefinition& program, const std::vector<std::string>& arguments,
               const FlagEnvironment& environment, std::ostream& out, std::ostream& error) {
  try {
    return Run(program, arguments, environment, out, error);
  } catch (const std::bad_alloc&) {  // not even enough to say it in another way
    error << program.name << ": there is no more memory\n";
    return kExitResources;
  } catch (const std::exception& bug) {
    error << program.name << ": unexpected: " << bug.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace partita
