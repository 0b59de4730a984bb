// One flag: a field of a message and what its options say (proto/flag.proto), and how its values are checked and
// described.
#ifndef PARTITA_RUN_SPEC_FLAG_H_
#define PARTITA_RUN_SPEC_FLAG_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

enum class FlagType : uint8_t { kBool, kInt, kFloat, kBytes, kText, kPath, kFolder, kChoice, kList };

// A field of a message, and what its options say.
struct FlagDefinition {
  std::string name;
  FlagType type = FlagType::kText;
  std::string default_value;                                   // as it would be written; "": unset
  std::string help;                                            // one sentence
  std::string group;                                           // heading in help
  double least = 0, most = 0;                                  // kInt, kFloat and kBytes; integers up to 2^53
  std::vector<std::string> choices;                            // kChoice
  std::vector<std::string> commands;                           // that take it; none: all
  bool written = false;                                        // a path: commands write there
  bool own = false;                                            // the ranks of a job may have different values
  std::vector<const google::protobuf::FieldDescriptor*> path;  // from the program's message to the field
};

// In the order of the message's fields; those of the field's message come where it stands.
std::vector<FlagDefinition> FlagsOf(const google::protobuf::Descriptor& message);

// The field that is the command's argument (FlagKind ARGUMENT).
std::optional<FlagDefinition> ArgumentOf(const google::protobuf::Descriptor& message);

// Those that the command takes, each as it is in this command (FlagVariant).
std::vector<FlagDefinition> FlagsOfCommand(const std::vector<FlagDefinition>& all, const std::string& command);

// Whether the command of a program takes the flag that this field is.
bool IsTakenBy(const google::protobuf::FieldDescriptor& field, const std::string& command);

// The elements of a kList flag's value, without the blanks around them.
std::vector<std::string> ListOf(const std::string& value);

// OK, or what was found and what is allowed; the caller puts the flag before it.
absl::Status CheckFlagValue(const FlagDefinition& flag, const std::string& value);

// "N", "FILE", "text|json": what stands for the value in help.
std::string FlagPlaceholder(const FlagDefinition& flag);

// "an integer from 1 to 64": what is allowed.
std::string FlagRange(const FlagDefinition& flag);

// TRAINER_LEARNING_RATE
std::string FlagVariable(const std::string& program, const std::string& flag);

// "64MiB" -> 67108864; units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, or none.
absl::StatusOr<int64_t> ParseBytes(const std::string& text);

// Whether the field has a value in the message.
bool HasValue(const FlagDefinition& definition, const google::protobuf::Message& message);

// The field's value in the message, or its default, as it would be written.
std::string ValueOf(const FlagDefinition& definition, const google::protobuf::Message& message);

// `value`: one that CheckFlagValue allows.
void SetValue(const FlagDefinition& definition, const std::string& value, google::protobuf::Message& message);
void ClearValue(const FlagDefinition& definition, google::protobuf::Message& message);

// A flag that has a value in the message.
struct GivenFlag {
  FlagDefinition flag;
  std::string value;
};
// Without those of every program: a run with the others is the same.
std::vector<GivenFlag> GivenFlags(const google::protobuf::Message& message);

}  // namespace partita

#endif  // PARTITA_RUN_SPEC_FLAG_H_
