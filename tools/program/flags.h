// Typed flags: `--name=value` or `--name value`; of booleans `--name` or `--name=value`. A value comes from the command
// line, else from the environment (TRAINER_LEARNING_RATE for --learning-rate of the trainer), else from a --config
// file, else it is the default. Every error is a FlagError (exit code 2) in one sentence: the flag, what was found,
// what is allowed.
#ifndef PARTITA_TOOLS_PROGRAM_FLAGS_H_
#define PARTITA_TOOLS_PROGRAM_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

enum class FlagType { kBool, kInt, kFloat, kBytes, kText, kPath, kFolder, kChoice };

struct FlagDefinition {
  std::string name;
  FlagType type = FlagType::kText;
  std::string default_value;         // as it would be written; "": unset
  std::string help;                  // one line
  std::string group;                 // heading in help
  double least = 0, most = 0;        // kInt, kFloat and kBytes; integers up to 2^53
  std::vector<std::string> choices;  // kChoice
};

FlagDefinition BoolFlag(std::string name, std::string help);
FlagDefinition UnsetBoolFlag(std::string name, std::string help);  // neither true nor false unless given
FlagDefinition IntFlag(std::string name, std::string value, int64_t least, int64_t most, std::string help);
FlagDefinition FloatFlag(std::string name, std::string value, double least, double most, std::string help);
FlagDefinition BytesFlag(std::string name, std::string value, int64_t least, std::string help);  // 4096, 64MiB, 2GiB
FlagDefinition TextFlag(std::string name, std::string value, std::string help);
FlagDefinition PathFlag(std::string name, std::string help);
FlagDefinition FolderFlag(std::string name, std::string help);
FlagDefinition ChoiceFlag(std::string name, std::string value, std::vector<std::string> choices, std::string help);

// What the parser takes from outside; tests pass their own.
struct FlagEnvironment {
  std::string program = "trainer";                   // upper case and '_': the prefix of variables
  std::function<const char*(const char* name)> get;  // getenv; nullptr: unset
  std::function<absl::StatusOr<std::string>(const std::string& path)> read;  // a --config file
  std::vector<std::string> names = {};                                       // of the variables that are set
};
FlagEnvironment SystemFlagEnvironment(const std::string& program);

// The checked values of one invocation. Asking for a flag that the definitions lack, or with another type, is a bug.
class Flags {
 public:
  // `known`: those of this command. `all`: those of the whole program; a config file may set them as well.
  static absl::StatusOr<Flags> Parse(const std::vector<FlagDefinition>& known, const std::vector<FlagDefinition>& all,
                                     const std::vector<std::string>& arguments, const FlagEnvironment& environment);

  bool Bool(const std::string& name) const { return Text(name) == "true"; }
  int64_t Int(const std::string& name) const;  // kInt, kBytes; 0 if unset
  double Float(const std::string& name) const;
  // As given; paths are absolute: a relative one is resolved against BUILD_WORKING_DIRECTORY where it is set.
  const std::string& Text(const std::string& name) const;
  bool Has(const std::string& name) const { return settings_.count(name) > 0; }  // among the definitions
  bool Given(const std::string& name) const;                                     // not the default
  bool IsSet(const std::string& name) const { return !Text(name).empty(); }
  FlagType Type(const std::string& name) const { return Find(name).definition.type; }

  // The arguments that are not flags, in order; their paths are resolved as well.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The given flags, as they would be written: for reports.
  std::map<std::string, std::string> GivenValues() const;
  // All flags as a --config file that gives the same values.
  std::string ToConfig() const;

 private:
  struct Setting {
    FlagDefinition definition;
    std::string value;
    bool given = false;
  };
  absl::Status Set(const std::string& name, const std::string& value, const std::string& origin);
  absl::Status ReadCommandLine(const std::vector<std::string>& arguments, const std::vector<FlagDefinition>& all);
  absl::Status UnknownFlag(const std::string& given, const std::vector<FlagDefinition>& all) const;
  absl::Status ReadEnvironment(const FlagEnvironment& environment);
  absl::Status ReadConfig(const std::vector<FlagDefinition>& all, const FlagEnvironment& environment);
  const Setting& Find(const std::string& name) const;

  std::map<std::string, Setting> settings_;
  std::vector<std::string> arguments_;
  std::string folder_;  // of the caller
};

// "64MiB" -> 67108864; units B, KiB, MiB, GiB, TiB, or none.
absl::StatusOr<int64_t> ParseBytes(const std::string& text);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_FLAGS_H_
