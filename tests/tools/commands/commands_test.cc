// check, show and version on the shipped examples and on wrong files.
#include "tools/commands/commands.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run/host/version.h"
#include "runtime/base/files.h"
#include "tools/program/exit_code.h"

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
  const ProgramDefinition program{"trainer",
                                  "trains",
                                  RunSpec::default_instance(),
                                  {CheckCommand(), ShowCommand(), VersionCommand()},
                                  [](const google::protobuf::Message& message, const std::string& command) {
                                    return CheckRun(static_cast<const RunSpec&>(message), command);
                                  }};
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

TEST(Show, TellsGraphsApart) {
  const auto hash = [](const std::vector<std::string>& flags) {
    std::vector<std::string> call = {"show", "--format=json", kExamples + "mlp.pbtxt"};
    call.insert(call.end(), flags.begin(), flags.end());
    return nlohmann::json::parse(Call(call).out)["graph_hash"].get<std::string>();
  };
  EXPECT_THAT(hash({}), ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(hash({}), hash({"--batch=64"})) << "what the file says";
  EXPECT_NE(hash({}), hash({"--batch=8"}));
  EXPECT_NE(hash({}), hash({"--learning-rate=0.5"}));
}

TEST(Check, TakesTheShippedExamples) {
  for (const char* name : {"mlp", "lenet5", "mini_inception"}) {
    const std::string graph = kExamples + name + ".pbtxt";
    std::vector<std::vector<std::string>> flags = {
        {}, {"--dp=2"}, {"--mp=2"}, {"--dp=2", "--mp=2", "--ranks=4"}, {"--ranks=3"}};
    for (const char* strategy : {"2x2", "data_model", "placement", "mixed", "classes", "workers", "groups", "grid"}) {
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

TEST(Check, RefusesMoreReplicasThanSamples) {
  const std::string graph = kExamples + "mlp.pbtxt";
  EXPECT_EQ(Call({"check", "--dp=8", "--batch=8", graph}).code, 0);
  for (const char* flag : {"--dp=9", "--ranks=9"}) {
    const Answer answer = Call({"check", flag, "--batch=8", graph});
    EXPECT_EQ(answer.code, kExitFlags) << flag;
    EXPECT_THAT(answer.error, HasSubstr("flag --dp is 9, but the batch has 8 samples"));
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
  const Answer parts = Call({"check", "--batch=7", "--micro-batches=2", graph});
  EXPECT_EQ(parts.code, kExitFiles);
  EXPECT_THAT(parts.error, HasSubstr("mlp.pbtxt: node 'images': micro_batches is 2"));
}

struct WrongStrategy {
  std::string text, sentence;
};

// Before anything runs, in one sentence.
TEST(Check, RefusesWrongStrategies) {
  const std::string two = "schema_version: 1 mesh { name: 'data' size: 2 } ";
  const auto dense1 = [&](const std::string& axis) {
    return two + "ops { pattern: 'dense1/matmul' axes { axis: 'data' " + axis + " } }";
  };
  const WrongStrategy wrong[] = {
      {dense1("split: 'output_channels' cuts: [0, 100, 200]"),
       "cuts [0,100,200] found; 3 points that rise from 0 to 256"},
      {dense1("split: 'output_channels' cuts: [0, 300, 256]"), "cuts are [0,300,256]; 3 numbers that begin with 0"},
      {dense1("split: 'output_channels' cuts: [10, 100, 256]"), "cuts are [10,100,256]; 3 numbers that begin with 0"},
      {two + "ops { pattern: 'loss' axes { axis: 'data' split: 'classes' cuts: [0, 4, 9] } }",
       "node 'loss': 'classes' over axis 'data': cuts [0,4,9] found; 3 points that rise from 0 to 10 are needed"},
      {two + "ops { pattern: 'accuracy' axes { axis: 'data' split: 'classes' } }", "can be split by 'classes'"},
      {two + "ops { pattern: 'loss' axes { axis: 'data' split: 'clases' } }", "did you mean 'classes'?"},
      {two + "mesh { name: 'data' size: 2 }", "axis 'data' is named twice"},
      {two + "stage_axis: 'data' ops { pattern: 'dense1/*' axes { axis: 'data' split: 'at' coordinate: 1 } } "
             "ops { pattern: 'dense2/*' axes { axis: 'data' split: 'at' coordinate: 0 } } micro_batches: 2",
       "stages form a cycle"},
      {two + "micro_batches: 5", "micro_batches is 5, which does not divide the batch of 64 samples"},
  };
  const std::string path = std::string(::testing::TempDir()) + "/wrong_strategy.pbtxt";
  for (const WrongStrategy& one : wrong) {
    ASSERT_TRUE(WriteFileAtomically(path, one.text + "\n").ok());
    const Answer answer = Call({"check", "--strategy=" + path, kExamples + "mlp.pbtxt"});
    EXPECT_EQ(answer.code, kExitFiles) << one.text;
    EXPECT_THAT(answer.error, HasSubstr(one.sentence));
    EXPECT_THAT(answer.error, HasSubstr("wrong_strategy.pbtxt"));
    EXPECT_EQ(std::count(answer.error.begin(), answer.error.end(), '\n'), 1) << answer.error;
  }
}

// How the ranks of a group share layers is said by flags or by a file.
TEST(Check, TakesHowLayersAreSplit) {
  const std::string graph = kExamples + "lenet5.pbtxt", strategy = "--strategy=" + kExamples + "lenet5_mixed.pbtxt";
  for (const char* split : {"channels", "rows", "samples", "auto"}) {
    const Answer answer = Call(
        {"check", "--dp=2", "--mp=3", std::string("--convolutions=") + split, "--input-gradients=all_reduce", graph});
    EXPECT_EQ(answer.code, 0) << split << ": " << answer.error;
  }
  for (const char* mode : {"auto", "direct", "slices", "chain"}) {
    EXPECT_EQ(Call({"check", "--dp=2", "--mp=3", std::string("--exchanges=") + mode, graph}).code, 0) << mode;
  }
  EXPECT_EQ(Call({"check", "--exchanges=both", graph}).code, kExitFlags);
  EXPECT_EQ(Call({"check", "--dense=rows", graph}).code, kExitFlags);
  EXPECT_EQ(Call({"check", strategy, "--convolutions=rows", graph}).code, kExitFlags);
}

TEST(TrainerFlags, EveryFlagIsOfCommandsThatThereAre) {
  std::set<std::string> names;
  for (const Command& command : TrainerCommands()) names.insert(command.name);
  for (const FlagDefinition& definition : FlagsOf(*RunSpec::descriptor())) {
    for (const std::string& command : definition.commands) EXPECT_TRUE(names.contains(command)) << definition.name;
  }
}

// What a command is asked for by `arguments`, and by nothing else; `config`: what a --config file has. An error: the
// empty message.
RunSpec SpecOf(const std::string& name, const std::vector<std::string>& arguments, const std::string& config) {
  RunSpec spec;
  std::vector<Command> commands = TrainerCommands();
  for (Command& command : commands) {
    command.run = Runs<RunSpec>([&spec](const ContextOf<RunSpec>& context) -> absl::StatusOr<int> {
      spec = context.spec;
      return kExitFinished;
    });
  }
  const ProgramDefinition program{"trainer", "trains", RunSpec::default_instance(), commands};
  const FlagEnvironment environment = {"trainer", [](const char*) -> const char* { return nullptr; },
                                       [&](const std::string&) -> absl::StatusOr<std::string> { return config; }};
  std::vector<std::string> line = {name};
  line.insert(line.end(), arguments.begin(), arguments.end());
  const auto command = std::ranges::find(commands, name, &Command::name);
  if (!command->argument.empty()) line.emplace_back("graph");
  if (!config.empty()) line.emplace_back("--config=c.toml");
  std::ostringstream out, error;
  EXPECT_EQ(RunProgram(program, line, environment, out, error), 0) << name << ": " << error.str() << config;
  spec.clear_general();
  return spec;
}

std::string Dump(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), name);
  arguments.emplace_back("--dump-config");
  const ProgramDefinition program{"trainer", "trains", RunSpec::default_instance(), TrainerCommands()};
  const FlagEnvironment environment = {"trainer", [](const char*) -> const char* { return nullptr; }, nullptr};
  std::ostringstream out, error;
  EXPECT_EQ(RunProgram(program, arguments, environment, out, error), 0) << error.str();
  return out.str();
}

// Of a flag, a value that it may have.
std::string SomeValue(const FlagDefinition& flag) {
  switch (flag.type) {
    case FlagType::kBool:
      return "true";
    case FlagType::kInt:
    case FlagType::kBytes:
      return fmt::to_string(static_cast<int64_t>(flag.least) + 1);
    case FlagType::kFloat:
      return "0.7";
    case FlagType::kChoice:
      return flag.choices.front();
    default:
      return "a";
  }
}

TEST(TrainerFlags, ADumpOfEachCommandIsReadBackAsTheSameRun) {
  for (const Command& command : TrainerCommands()) {
    EXPECT_EQ(SpecOf(command.name, {}, Dump(command.name, {})).DebugString(),
              SpecOf(command.name, {}, "").DebugString());
    std::vector<std::string> all;
    for (FlagDefinition& flag : FlagsOfCommand(FlagsOf(*RunSpec::descriptor()), command.name)) {
      if (flag.group == "General") continue;
      if (const auto own = command.choices.find(flag.name); own != command.choices.end()) flag.choices = own->second;
      all.push_back(fmt::format("--{}={}", flag.name, SomeValue(flag)));
    }
    const RunSpec given = SpecOf(command.name, all, "");
    EXPECT_EQ(SpecOf(command.name, {}, Dump(command.name, all)).DebugString(), given.DebugString());
    EXPECT_EQ(GivenFlags(given).size(), all.size()) << command.name;
  }
}

// What help and dumps say that a command does without a flag.
TEST(TrainerFlags, ADefaultThatOnlySomeCommandsHaveIsTheirs) {
  EXPECT_THAT(Dump("sweep", {}), HasSubstr("\n# mp = \"2\"\n"));
  EXPECT_THAT(Dump("sweep", {}), ::testing::Not(HasSubstr("ranks =")));
  EXPECT_THAT(Dump("train", {}), HasSubstr("\n# mp = \"1\"\n"));
  EXPECT_THAT(Dump("verify", {}), HasSubstr("\n# steps = \"3\"\n"));
  EXPECT_THAT(Dump("calibrate", {}), HasSubstr("\n# steps = \"30\"\n"));
}

// Of a flag in the command's help: its entry, without line breaks. Empty: there is none.
std::string HelpOf(const std::string& name, const std::string& flag) {
  const ProgramDefinition program{"trainer", "trains", RunSpec::default_instance(), TrainerCommands()};
  std::ostringstream out, error;
  EXPECT_EQ(RunProgram(program, {name, "--help"}, SystemFlagEnvironment("trainer"), out, error), 0) << error.str();
  std::istringstream lines(out.str());
  std::string entry;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("      ")) inside = line.starts_with("  --" + flag);
    if (inside) entry += " " + line.substr(std::min(line.find_first_not_of(' '), line.size()));
  }
  return entry;
}

TEST(TrainerFlags, HelpSpeaksOfTheCommandAlone) {
  EXPECT_THAT(HelpOf("train", "load="), HasSubstr("resume its training"));
  for (const char* name : {"evaluate", "predict", "decode"}) {
    EXPECT_THAT(HelpOf(name, "load="), HasSubstr("read this model")) << name;
    for (const char* flag : {"learning-rate", "bucket-bytes", "recompute"}) EXPECT_EQ(HelpOf(name, flag), "") << name;
  }
  EXPECT_THAT(HelpOf("convert", "output"), HasSubstr(".safetensors"));
  EXPECT_THAT(HelpOf("decode", "output"), HasSubstr("one line for each sample"));
  EXPECT_THAT(HelpOf("oracle", "history"), HasSubstr("read predicted and measured times"));
  EXPECT_THAT(HelpOf("calibrate", "device"),
              ::testing::MatchesRegex(" --device=host +device of the ranks \\(default host\\)"));
  EXPECT_THAT(HelpOf("verify", "steps"), HasSubstr("steps to compare (default 3)"));
  EXPECT_THAT(HelpOf("calibrate", "steps"), HasSubstr("steps to measure (default 30)"));
  EXPECT_THAT(HelpOf("sweep", "mp"), HasSubstr("(default 2)"));
  EXPECT_THAT(HelpOf("sweep", "ranks"), ::testing::Not(HasSubstr("default")));
  EXPECT_THAT(HelpOf("plan", "config"), HasSubstr("JSON"));
  for (const char* flag : {"mock-data", "resize", "bad-files"}) EXPECT_EQ(HelpOf("decode", flag), "") << flag;
}

TEST(Version, NamesTheLibraries) {
  EXPECT_THAT(Call({"version"}).out, StartsWith("partita       " + std::string(kToolVersion)));
  const nlohmann::json json = nlohmann::json::parse(Call({"version", "--format=json"}).out);
  EXPECT_EQ(json["tool_version"], kToolVersion);
  for (const char* name : {"protobuf", "json", "xxhash"}) EXPECT_TRUE(json["libraries"].contains(name)) << name;
  EXPECT_EQ(json["revision"], "unknown") << "tests are built without --stamp";
  for (const char* field : {"name", "system", "processor"}) EXPECT_NE(json["host"][field], "") << field;
  EXPECT_GT(json["host"]["cores"], 0);
  EXPECT_THAT(json["time"].get<std::string>(), ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
}

}  // namespace
}  // namespace partita
