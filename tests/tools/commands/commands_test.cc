// check, show and version on the shipped examples and on wrong files.
#include "tools/commands/commands.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/files.h"
#include "tools/exit_code.h"
#include "tools/trainer_flags.h"
#include "tools/version.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kExamples = "tools/models/examples/";

struct Answer {
  int code;
  std::string out, error;
};

Answer Call(const std::vector<std::string>& arguments) {
  const ProgramDefinition program{
      "trainer", "trains", TrainerFlags(), {CheckCommand(), ShowCommand(), VersionCommand()}};
  FlagEnvironment environment = SystemFlagEnvironment("trainer");
  environment.get = [](const char*) -> const char* { return nullptr; };
  std::ostringstream out, error;
  const int code = RunProgram(program, arguments, environment, out, error);
  return {code, out.str(), error.str()};
}

TEST(Show, TellsTheSizes) {
  const Answer answer = Call({"show", kExamples + "mini_inception.pbtxt"});
  EXPECT_EQ(answer.code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("118394 in 47 tensors"));
  EXPECT_THAT(answer.out, HasSubstr("images f32[64,28,28,1], labels i32[64]"));
}

TEST(Show, WritesJson) {
  const Answer answer = Call({"show", "--format=json", "--batch=8", kExamples + "lenet5.pbtxt"});
  ASSERT_EQ(answer.code, 0) << answer.error;
  const nlohmann::json json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["parameters"], 61'706);
  EXPECT_EQ(json["inputs"][0], "images f32[8,28,28,1]");
}

TEST(Show, DrawsEveryEdge) {
  const Answer answer = Call({"show", "--format=dot", kExamples + "mlp.pbtxt"});
  EXPECT_EQ(answer.code, 0) << answer.error;
  EXPECT_THAT(answer.out, StartsWith("digraph \"mlp\" {"));
  EXPECT_THAT(answer.out, HasSubstr("\"dense1/matmul/weights\" -> \"dense1/matmul\";"));
  EXPECT_EQ(Call({"show", "--format=csv", kExamples + "mlp.pbtxt"}).code, kExitFlags);
}

TEST(Check, TakesTheShippedExamples) {
  for (const char* name : {"mlp", "lenet5", "mini_inception"}) {
    const std::string graph = kExamples + name + ".pbtxt";
    std::vector<std::vector<std::string>> flags = {
        {}, {"--dp=2"}, {"--mp=2"}, {"--dp=2", "--mp=2", "--ranks=4"}, {"--ranks=3"}};
    for (const char* strategy : {"2x2", "data_model", "placement", "mixed"}) {
      const std::string path = kExamples + name + "_" + strategy + ".pbtxt";
      if (ReadFile(path, 1 << 20).ok()) flags.push_back({"--strategy=" + path, "--ranks=4"});
    }
    EXPECT_GE(flags.size(), 7u);
    for (std::vector<std::string> arguments : flags) {
      arguments.insert(arguments.begin(), "check");
      arguments.push_back(graph);
      const Answer answer = Call(arguments);
      EXPECT_EQ(answer.code, 0) << name << " " << arguments[1] << ": " << answer.error;
      EXPECT_THAT(answer.out, HasSubstr("program   ok"));
    }
  }
}

TEST(Check, RefusesWithExitCodes) {
  const std::string graph = kExamples + "mlp.pbtxt", strategy = "--strategy=" + kExamples + "mlp_mixed.pbtxt";
  EXPECT_EQ(Call({"check", "none.pbtxt"}).code, kExitFiles);
  EXPECT_EQ(Call({"check", kExamples + "mlp_mixed.pbtxt"}).code, kExitFiles);
  EXPECT_EQ(Call({"check", strategy, "--ranks=3", graph}).code, kExitFlags);
  EXPECT_EQ(Call({"check", strategy, "--dp=2", graph}).code, kExitFlags);
  EXPECT_EQ(Call({"check", "--dp=2", "--mp=2", "--ranks=5", graph}).code, kExitFlags);
  const Answer other = Call({"check", "--strategy=" + kExamples + "lenet5_mixed.pbtxt", graph});
  EXPECT_EQ(other.code, kExitFiles);
  EXPECT_THAT(other.error, HasSubstr("'conv1/conv' names no node"));
}

TEST(TrainerFlags, EveryFlagIsTakenByACommand) {
  const std::vector<Command> commands = {CheckCommand(), EvaluateCommand(), LaunchCommand(), PlanCommand(),
                                         ShowCommand(),  TrainCommand(),    VerifyCommand(), VersionCommand()};
  for (const FlagDefinition& flag : TrainerFlags()) {
    const bool taken = std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
      return std::find(command.flags.begin(), command.flags.end(), flag.name) != command.flags.end();
    });
    EXPECT_TRUE(taken) << "--" << flag.name;
  }
}

TEST(Version, NamesTheLibraries) {
  EXPECT_THAT(Call({"version"}).out, StartsWith("partita    " + std::string(kToolVersion)));
  const nlohmann::json json = nlohmann::json::parse(Call({"version", "--format=json"}).out);
  EXPECT_EQ(json["tool_version"], kToolVersion);
  EXPECT_TRUE(json["libraries"].contains("protobuf"));
}

}  // namespace
}  // namespace partita
