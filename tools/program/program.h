// A program with commands: `trainer <command> [flags] GRAPH`. Help, flags, errors and exit codes are the same for all.
#ifndef PARTITA_TOOLS_PROGRAM_PROGRAM_H_
#define PARTITA_TOOLS_PROGRAM_PROGRAM_H_

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/program/flags.h"

namespace partita {

// The input of a command. Results go to `out`; messages to the user go to the log.
struct CommandContext {
  const google::protobuf::Message& message;  // of the program's type: what the flags say
  std::ostream& out;
  std::vector<std::string> rest;  // of a command that passes on: what stood behind `--`, as given
  // Reads such a command line, whose first word is a command; errors are those that it would end with.
  std::function<absl::Status(const std::vector<std::string>& line, google::protobuf::Message& message)> parse;
};

// The same for a command of a program whose message is a `Spec`.
template <typename Spec>
struct ContextOf : CommandContext {
  explicit ContextOf(const CommandContext& context)
      : CommandContext(context), spec(static_cast<const Spec&>(context.message)) {}
  const Spec& spec;
};

struct Command {
  std::string name;
  std::string summary;   // one line
  std::string argument;  // of the usage line, e.g. "GRAPH"; "": the command takes none
  // The exit code of a run that did what it was asked for, or an error (tools/program/exit_code.h turns it into a
  // code).
  std::function<absl::StatusOr<int>(const CommandContext&)> run;
  bool passes_on = false;  // takes the command line of another command behind `--`
  // Of flags that are choices: those that this command has, where it has not all.
  std::map<std::string, std::vector<std::string>> choices = {};
};

// What a command runs, for `Command::run`.
template <typename Spec>
std::function<absl::StatusOr<int>(const CommandContext&)> Runs(
    std::function<absl::StatusOr<int>(const ContextOf<Spec>&)> run) {
  return [run](const CommandContext& context) { return run(ContextOf<Spec>(context)); };
}

struct ProgramDefinition {
  std::string name;
  std::string summary;
  const google::protobuf::Message& message;  // whose fields are the flags; an empty one
  std::vector<Command> commands;
  // Whether what the flags say of this command goes together; before the command runs, or is passed on.
  std::function<absl::Status(const google::protobuf::Message&, const std::string& command)> check = {};
  std::function<absl::Status(const google::protobuf::Message&)> set_up = {};  // after that
};

// Parses, runs, prints an error as one line to `error`, and returns the exit code; exceptions are errors as well.
// `arguments`: without the program.
int RunProgram(const ProgramDefinition& program, const std::vector<std::string>& arguments,
               const FlagEnvironment& environment, std::ostream& out, std::ostream& error);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_PROGRAM_H_
