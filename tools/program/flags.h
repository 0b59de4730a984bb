// A program's flags: the fields of its message that have the option `flag` (proto/flag.proto). They are written
// `--name=value` or `--name value`; booleans `--name` or `--name=value`. A value comes from the command line, else from
// the environment (TRAINER_LEARNING_RATE for --learning-rate of the trainer), else from a --config file; a field that
// none of them gives stays absent and has its default. Every error is a FlagError (exit code 2) in one sentence: the
// flag, what was found, what is allowed.
#ifndef PARTITA_TOOLS_PROGRAM_FLAGS_H_
#define PARTITA_TOOLS_PROGRAM_FLAGS_H_

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/flag.pb.h"
#include "run/spec/flag.h"

namespace partita {

// What the parser takes from outside; tests pass their own.
struct FlagEnvironment {
  std::string program = "trainer";                   // upper case and '_': the prefix of variables
  std::function<const char*(const char* name)> get;  // getenv; nullptr: unset
  std::function<absl::StatusOr<std::string>(const std::string& path)> read;  // a --config file
  std::vector<std::string> names = {};                                       // of the variables that are set
};
FlagEnvironment SystemFlagEnvironment(const std::string& program);

// Sets the fields of `message` and returns the arguments that are not flags, in order. Paths are absolute: a relative
// one is resolved against BUILD_WORKING_DIRECTORY where it is set; arguments are paths as well. `known`: the flags of
// this command. `all`: those of the whole program; in a config file they change nothing. The graph of a report is set
// as the argument.
absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<FlagDefinition>& known,
                                                    const std::vector<FlagDefinition>& all,
                                                    const std::vector<std::string>& arguments,
                                                    const FlagEnvironment& environment,
                                                    google::protobuf::Message& message);

// The flags that have values, as a --config file that gives the same; the defaults of the others are comments.
absl::StatusOr<std::string> ToConfig(const std::vector<FlagDefinition>& flags,
                                     const google::protobuf::Message& message);

// The field that is the command's argument (FlagKind ARGUMENT); a message may have none. "": not set.
std::string ArgumentIn(const google::protobuf::Message& message);
void SetArgument(const std::string& argument, google::protobuf::Message& message);

// The message's part with the flags of every program.
const GeneralSpec& GeneralOf(const google::protobuf::Message& message);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_FLAGS_H_
