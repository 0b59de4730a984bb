#include "tools/program/program.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "tools/program/exit_code.h"
#include "tools/program/one_line.h"
#include "tools/program/program_help.h"
#include "tools/program/unknown_variables.h"

namespace partita {
namespace {

std::vector<FlagDefinition> AllFlags(const ProgramDefinition& program) {
  return FlagsOf(*program.message.GetDescriptor());
}

std::vector<FlagDefinition> FlagsFor(const ProgramDefinition& program, const Command& command) {
  std::vector<FlagDefinition> flags = FlagsOfCommand(AllFlags(program), command.name);
  for (FlagDefinition& flag : flags) {
    const auto choices = command.choices.find(flag.name);
    if (choices != command.choices.end()) flag.choices = choices->second;
  }
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

// The graph that a report in --config names, for a command whose argument is a graph.
absl::Status TakeReportedGraph(const google::protobuf::Message& message) {
  const std::string graph = ArgumentIn(message);
  if (std::error_code error; std::filesystem::exists(graph, error)) return absl::OkStatus();
  return InvalidArgument(
      "{}: key 'graph' is {}, which is not there; if the graph of the report's run has moved, give its path as the "
      "argument",
      GeneralOf(message).config(), Quoted(graph));
}

absl::Status TakeArguments(const Command& command, const std::vector<std::string>& arguments,
                           google::protobuf::Message& message) {
  if (command.argument != "GRAPH") SetArgument("", message);
  const size_t expected = command.argument.empty() ? 0 : 1;
  if (arguments.size() > expected) {
    return FlagError("{} takes {}; found {}: {}", command.name,
                     expected == 0 ? "no argument" : "one argument (" + command.argument + ")", arguments.size(),
                     Quoted(arguments[expected]));
  }
  if (arguments.size() < expected && !ArgumentIn(message).empty()) return TakeReportedGraph(message);
  if (arguments.size() < expected) return FlagError("{} needs an argument: {}", command.name, command.argument);
  if (expected == 1) SetArgument(arguments[0], message);
  return absl::OkStatus();
}

// Of a command that passes on: without `--` the other command's flags would be taken for its own.
absl::Status CheckSeparator(const ProgramDefinition& program, const Command& command,
                            const std::vector<std::string>& arguments) {
  if (std::ranges::find(arguments, "--") != arguments.end()) return absl::OkStatus();
  const auto is_command = [&](const std::string& word) {
    return std::ranges::find(program.commands, word, &Command::name) != program.commands.end();
  };
  for (const std::string& word : arguments) {
    const bool is_flag = word.starts_with('-'), is_first = word == arguments.front();
    if (is_flag || (!is_first && !is_command(word))) continue;
    return FlagError("{0}: '--' is missing before {1}; expected {0} [flags] -- COMMAND [flags] ...", command.name,
                     Quoted(word));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunCommand(const ProgramDefinition& program, const Command& command,
                               const std::vector<std::string>& arguments, const FlagEnvironment& environment,
                               std::ostream& out) {
  const auto parse = [&](const std::vector<std::string>& line, google::protobuf::Message& message) -> absl::Status {
    ASSIGN_OR_RETURN(const Command* const other, FindCommand(program, line[0]));
    ASSIGN_OR_RETURN(
        const std::vector<std::string> rest,
        ParseFlags(FlagsFor(program, *other), AllFlags(program), {line.begin() + 1, line.end()}, environment, message));
    const GeneralSpec& general = GeneralOf(message);
    if (general.help() || general.help_all() || general.dump_config()) return absl::OkStatus();
    RETURN_IF_ERROR(TakeArguments(*other, rest, message));
    return program.check ? program.check(message, other->name) : absl::OkStatus();
  };
  auto end = arguments.end();
  if (command.passes_on) {
    end = std::find(arguments.begin(), arguments.end(), "--");
    RETURN_IF_ERROR(CheckSeparator(program, command, arguments));
  }
  const std::vector<std::string> own(arguments.begin(), end);
  const std::vector<FlagDefinition> flags = FlagsFor(program, command);
  const std::unique_ptr<google::protobuf::Message> message(program.message.New());
  ASSIGN_OR_RETURN(const std::vector<std::string> given,
                   ParseFlags(flags, AllFlags(program), own, environment, *message));
  const GeneralSpec& general = GeneralOf(*message);
  if (general.help() || general.help_all()) {
    out << CommandUsage(program, command, flags, general.help_all());
    return kExitFinished;
  }
  if (general.dump_config()) {
    ASSIGN_OR_RETURN(const std::string config, ToConfig(flags, *message));
    out << config;
    return kExitFinished;
  }
  RETURN_IF_ERROR(TakeArguments(command, given, *message));
  const std::vector<std::string> rest(end == arguments.end() ? end : end + 1, arguments.end());
  if (program.check) RETURN_IF_ERROR(program.check(*message, command.name));
  if (program.set_up) RETURN_IF_ERROR(program.set_up(*message));
  return command.run({*message, out, rest, parse});
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
  out << CommandUsage(program, *command, FlagsFor(program, *command), false);
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
