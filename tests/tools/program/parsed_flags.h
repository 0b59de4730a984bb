// Flags as a test reads them: from a command line, variables and files that it makes up.
#ifndef PARTITA_TESTS_TOOLS_PROGRAM_PARSED_FLAGS_H_
#define PARTITA_TESTS_TOOLS_PROGRAM_PARSED_FLAGS_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "proto/run.pb.h"
#include "runtime/base/status.h"
#include "tests/tools/program/test_spec.pb.h"
#include "tools/program/exit_code.h"
#include "tools/program/flags.h"

namespace partita {

struct World {
  std::map<std::string, std::string> variables, files;

  FlagEnvironment environment() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : variables) names.push_back(name);
    return {"trainer",
            [this](const char* name) -> const char* {
              auto found = variables.find(name);
              return found == variables.end() ? nullptr : found->second.c_str();
            },
            [this](const std::string& path) -> absl::StatusOr<std::string> {
              auto found = files.find(path);
              if (found == files.end()) return InvalidArgument("{}: cannot be opened", path);
              return found->second;
            },
            names};
  }
};

inline std::vector<FlagDefinition> TrainerFlags() { return FlagsOf(*RunSpec::descriptor()); }

inline std::vector<FlagDefinition> Known() { return FlagsOfCommand(FlagsOf(*TestSpec::descriptor()), "parse"); }

struct Parsed {
  TestSpec spec;
  std::vector<std::string> rest;
};

inline absl::StatusOr<Parsed> Parse(const std::vector<std::string>& arguments, const World& world = {}) {
  Parsed parsed;
  ASSIGN_OR_RETURN(parsed.rest, ParseFlags(Known(), TrainerFlags(), arguments, world.environment(), parsed.spec));
  return parsed;
}

inline std::string Refusal(const std::vector<std::string>& arguments, const World& world = {}) {
  const absl::Status status = Parse(arguments, world).status();
  EXPECT_EQ(ToExitCode(status), kExitFlags) << status;
  return std::string(status.message());
}

}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_PROGRAM_PARSED_FLAGS_H_
