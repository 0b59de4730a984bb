// Flags: where values come from, what is refused, and how the program answers.
#include "tools/program/flags.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "proto/run.pb.h"
#include "run/spec/flag.h"
#include "runtime/base/status.h"
#include "tests/tools/program/parsed_flags.h"
#include "tools/program/exit_code.h"
#include "tools/program/flag_help.h"
#include "tools/program/program.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Flags, HaveTypesAndDefaults) {
  const Parsed parsed = *Parse({"--learning-rate=0.25", "--memory=64MiB", "--augment", "graph.pb"});
  EXPECT_EQ(parsed.spec.epochs(), 3);
  EXPECT_FALSE(parsed.spec.has_epochs());
  EXPECT_EQ(parsed.spec.learning_rate(), 0.25);
  EXPECT_EQ(parsed.spec.memory(), 64 << 20);
  EXPECT_TRUE(parsed.spec.augment());
  EXPECT_FALSE(parsed.spec.files().has_save());
  EXPECT_EQ(parsed.rest, std::vector<std::string>{"graph.pb"});
  std::map<std::string, std::string> given;
  for (const auto& [definition, value] : GivenFlags(parsed.spec)) given[definition.name] = value;
  EXPECT_EQ(given, (std::map<std::string, std::string>{
                       {"augment", "true"}, {"learning-rate", "0.25"}, {"memory", "67108864"}}));
}

TEST(Flags, TakeTheNextWordForAValue) {
  const Parsed parsed = *Parse({"--epochs", "4", "--augment", "graph.pb", "--save", "a"});
  EXPECT_EQ(parsed.spec.epochs(), 4);
  EXPECT_TRUE(parsed.spec.augment()) << "a switch takes no word";
  EXPECT_EQ(parsed.rest, std::vector<std::string>{"graph.pb"});
  EXPECT_EQ(parsed.spec.files().save(), "a");
  EXPECT_THAT(Refusal({"--epochs", "-1"}), HasSubstr("the value is '-1'")) << "a number may be negative";
}

TEST(Flags, ComeFromCommandLineThenEnvironmentThenConfig) {
  World world;
  world.variables = {{"TRAINER_EPOCHS", "5"}, {"TRAINER_LEARNING_RATE", "2"}};
  world.files["c.toml"] = "# mine\nepochs = 7\nlearning-rate = 3.0\nformat = \"json\"\nseed = 4 # another command's\n";
  const TestSpec spec = Parse({"--epochs=4", "--config=c.toml"}, world)->spec;
  EXPECT_EQ(spec.epochs(), 4);
  EXPECT_EQ(spec.learning_rate(), 2);
  EXPECT_EQ(spec.format(), "json");
}

TEST(Flags, ResolvePathsAgainstTheCallersFolder) {
  World world;
  world.variables = {{"BUILD_WORKING_DIRECTORY", "/home/me"}};
  const Parsed parsed = *Parse({"--save=out/a.safetensors", "--data=images", "../graph.pb"}, world);
  EXPECT_EQ(parsed.spec.files().save(), "/home/me/out/a.safetensors");
  EXPECT_EQ(parsed.spec.files().data(), "/home/me/images");
  EXPECT_EQ(parsed.rest[0], "/home/graph.pb");
  EXPECT_EQ(Parse({"/graph.pb"}, world)->rest[0], "/graph.pb");
}

// What is written, and which commands take it, follow from the field alone.
TEST(Flags, AreTheFieldsOfTheMessage) {
  const std::vector<FlagDefinition> flags = Known();
  const auto save = std::ranges::find(flags, "save", &FlagDefinition::name);
  ASSERT_NE(save, flags.end());
  EXPECT_TRUE(save->written);
  EXPECT_EQ(save->group, "Files");
  EXPECT_EQ(save->path.size(), 2u);
  EXPECT_TRUE(IsTakenBy(*save->path.back(), "parse"));
  EXPECT_FALSE(IsTakenBy(*save->path.back(), "train"));
  EXPECT_EQ(std::ranges::count(flags, "graph", &FlagDefinition::name), 0) << "it is the argument";
  TestSpec spec;
  SetArgument("/graph.pb", spec);
  EXPECT_EQ(ArgumentIn(spec), "/graph.pb");
  SetArgument("", spec);
  EXPECT_FALSE(spec.has_graph());
}

TEST(Flags, ListsHaveNamesBetweenCommas) {
  EXPECT_EQ(ListOf("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(ListOf(" a , b+c,d "), (std::vector<std::string>{"a", "b+c", "d"}));
  EXPECT_EQ(Parse({"--skip=a, b"})->spec.skip(), "a, b");
  for (const char* value : {"", ",", "a,", ",a", "a, ,b", " "}) {
    EXPECT_THAT(Refusal({std::string("--skip=") + value}), HasSubstr("a list of names with commas between them"));
  }
}

TEST(Flags, DifferInSomeCommands) {
  const auto of = [](const std::string& command, const std::string& name) {
    const std::vector<FlagDefinition> flags = FlagsOfCommand(FlagsOf(*TestSpec::descriptor()), command);
    return *std::ranges::find(flags, name, &FlagDefinition::name);
  };
  EXPECT_EQ(of("parse", "epochs").help, "passes");
  EXPECT_EQ(of("train", "epochs").help, "passes of training");
  EXPECT_EQ(of("train", "epochs").default_value, "3");
  EXPECT_EQ(of("parse", "learning-rate").help, "rate");
  EXPECT_EQ(of("parse", "learning-rate").default_value, "0.5");
}

TEST(Flags, AnUnknownOneIsAnsweredByThoseThatAreNear) {
  EXPECT_EQ(Refusal({"--xyzzy=3"}), "flag '--xyzzy' is unknown here; --help lists the flags");
  EXPECT_EQ(Refusal({"--rate=3"}),
            "flag '--rate' is unknown here; related are --learning-rate; --help lists the flags");
  EXPECT_EQ(Refusal({"--learning_rate=3"}), "flag '--learning_rate' is unknown here; did you mean '--learning-rate'?");
  EXPECT_EQ(Refusal({"--lr=3"}), "flag '--lr' is unknown here; did you mean '--learning-rate'?");
}

TEST(Flags, RefuseInOneSentence) {
  EXPECT_THAT(Refusal({"--epoch=3"}), HasSubstr("flag '--epoch' is unknown here; did you mean '--epochs'?"));
  EXPECT_THAT(Refusal({"-epochs=3"}), HasSubstr("did you mean '--epochs'?"));
  EXPECT_THAT(Refusal({"--epochs"}), HasSubstr("has no value; --epochs=N is needed"));
  for (const char* value : {"0", "101", "3.5", "x", "", "3 ", "9999999999999999999999"}) {
    EXPECT_THAT(Refusal({std::string("--epochs=") + value}),
                StartsWith("flag --epochs: the value is '" + std::string(value) + "'; an integer from 1 to 100"));
  }
  EXPECT_THAT(Refusal({"--learning-rate=nan"}), HasSubstr("a number from 0 to 10"));
  EXPECT_THAT(Refusal({"--augment=yes"}), HasSubstr("true or false"));
  EXPECT_THAT(Refusal({"--format=jso"}), HasSubstr("did you mean 'json'?"));
  EXPECT_THAT(Refusal({"--memory=64mb"}), HasSubstr("64MiB"));
  EXPECT_THAT(Refusal({"--save="}), HasSubstr("a path is needed"));
  EXPECT_THAT(Refusal({"--epochs=3", "--epochs=4"}), HasSubstr("given twice"));
  EXPECT_THAT(Refusal({""}), HasSubstr("an argument is empty"));
  EXPECT_THAT(Refusal({"--save", "--augment"}), HasSubstr("--save=FILE is needed"));
  EXPECT_THAT(Refusal({"--epochs", "many"}), HasSubstr("the value is 'many'"));
  EXPECT_THAT(Refusal({"--shift=3"}), HasSubstr("'--shift' is of other commands, not of this one"));
  EXPECT_THAT(Refusal({"--epocsh=3"}), HasSubstr("did you mean '--epochs'?")) << "two neighbours swapped";
  EXPECT_EQ(Parse({"--", "--epochs"})->rest, std::vector<std::string>{"--epochs"});
}

TEST(Bytes, HaveUnits) {
  EXPECT_EQ(*ParseBytes("4096"), 4096);
  EXPECT_EQ(*ParseBytes("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(*ParseBytes("3KiB"), 3072);
  EXPECT_EQ(*ParseBytes("80GB"), 80'000'000'000);
  EXPECT_EQ(*ParseBytes("7kB"), 7000);
  for (const char* text : {"", "GiB", "-1", "1.5GiB", "8388608TiB", "9223373TB", "9223372036854775808", "1 GiB"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(ExitCodes, FollowTheError) {
  EXPECT_EQ(ToExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ToExitCode(absl::InternalError("")), 1);
  EXPECT_EQ(ToExitCode(FlagError("x")), 2);
  EXPECT_EQ(ToExitCode(InvalidArgument("x")), 3);
  EXPECT_EQ(ToExitCode(ResourceExhausted("x")), 4);
  EXPECT_EQ(ToExitCode(OutOfRange("x")), 5);
  EXPECT_EQ(ToExitCode(VerificationFailure("x")), 6);
  EXPECT_EQ(ToExitCode(Unavailable("x")), 138);
  EXPECT_EQ(ToExitCode(AsNoDevice(Unavailable("x"))), 7);
  EXPECT_EQ(ToExitCode(AsNoDevice(FlagError("x"))), 2);
}

struct Answer {
  int code;
  std::string out, error;
};

Answer Call(const std::vector<std::string>& arguments, const World& world = {}) {
  const auto train = [](const ContextOf<TestSpec>& context) -> absl::StatusOr<int> {
    context.out << "epochs " << context.spec.epochs();
    if (context.spec.graph() == "/dev/null") context.out << " of " << context.spec.graph();
    return kExitInterrupted;
  };
  const auto read = [](const ContextOf<TestSpec>& context) -> absl::StatusOr<int> {
    context.out << "reads " << context.spec.graph();
    return kExitFinished;
  };
  const auto fail = [](const CommandContext&) -> absl::StatusOr<int> { return ResourceExhausted("too large"); };
  const ProgramDefinition program{
      "trainer",
      "trains",
      TestSpec::default_instance(),
      {{.name = "train", .summary = "train it", .argument = "GRAPH", .run = Runs<TestSpec>(train)},
       {.name = "fail", .summary = "does not fit", .argument = "", .run = fail, .choices = {{"format", {"text"}}}},
       {.name = "read", .summary = "read lines", .argument = "LINES", .run = Runs<TestSpec>(read)},
       {.name = "launch", .summary = "run others", .argument = "", .run = fail, .passes_on = true}}};
  std::ostringstream out, error;
  const int code = RunProgram(program, arguments, world.environment(), out, error);
  return {code, out.str(), error.str()};
}

TEST(Program, RunsCommands) {
  const Answer answer = Call({"train", "--epochs=2", "graph.pb"});
  EXPECT_EQ(answer.code, 130);
  EXPECT_EQ(answer.out, "epochs 2");
  EXPECT_EQ(answer.error, "");
}

TEST(Program, SaysWhatIsWrong) {
  EXPECT_EQ(Call({"fail"}).code, 4);
  EXPECT_EQ(Call({"fail"}).error, "trainer: too large\n");
  EXPECT_EQ(Call({}).code, 2);
  EXPECT_EQ(Call({"trains"}).error, "trainer: command 'trains' is unknown; did you mean 'train'?\n");
  EXPECT_EQ(Call({"trains"}).code, 2);
  EXPECT_EQ(Call({"train"}).error, "trainer: train needs an argument: GRAPH\n");
  EXPECT_EQ(Call({"train", "a", "b"}).error, "trainer: train takes one argument (GRAPH); found 2: 'b'\n");
  EXPECT_EQ(Call({"fail", "a"}).error, "trainer: fail takes no argument; found 1: 'a'\n");
  EXPECT_EQ(Call({"fail", "--epochs=2"}).code, 2);
}

// A report names the graph of commands whose argument is a graph, and nothing of others.
TEST(Program, TakesTheGraphOfAReport) {
  World world;
  world.files["r.json"] = R"({"graph": "/dev/null", "flags": {"epochs": 2}})";
  world.files["moved.json"] = R"({"graph": "/none/graph.pb", "flags": {"epochs": 2}})";
  EXPECT_EQ(Call({"train", "--config=r.json"}, world).out, "epochs 2 of /dev/null");
  EXPECT_EQ(Call({"train", "--config=r.json", "mine"}, world).out, "epochs 2");
  EXPECT_EQ(Call({"read", "--config=r.json"}, world).error, "trainer: read needs an argument: LINES\n");
  EXPECT_EQ(Call({"read", "--config=r.json", "mine"}, world).out, "reads mine");
  const Answer moved = Call({"train", "--config=moved.json"}, world);
  EXPECT_EQ(moved.code, kExitFiles);
  EXPECT_EQ(moved.error,
            "trainer: moved.json: key 'graph' is '/none/graph.pb', which is not there; if the graph of the report's "
            "run has moved, give its path as the argument\n");
  EXPECT_EQ(Call({"train", "--config=moved.json", "/dev/null"}, world).out, "epochs 2 of /dev/null");
}

TEST(Program, AsksForTheSeparatorOfAPassedCommand) {
  EXPECT_EQ(Call({"launch", "train", "--epochs=2"}).error,
            "trainer: launch: '--' is missing before 'train'; expected launch [flags] -- COMMAND [flags] ...\n");
  EXPECT_THAT(Call({"launch", "--skip=x", "train", "--epochs=2"}).error, HasSubstr("'--' is missing before 'train'"));
  EXPECT_THAT(Call({"launch", "trian", "--epochs=2"}).error, HasSubstr("'--' is missing before 'trian'"));
  EXPECT_EQ(Call({"launch", "help"}).code, kExitFlags);
  EXPECT_EQ(Call({"launch", "--", "train"}).error, "trainer: too large\n") << "its own";
}

Answer CallOne(const std::function<absl::StatusOr<int>()>& work) {
  const ProgramDefinition program{"trainer",
                                  "trains",
                                  TestSpec::default_instance(),
                                  {{"do", "it", "", [&](const CommandContext&) { return work(); }}}};
  const World world;
  std::ostringstream out, error;
  const int code = RunProgram(program, {"do"}, world.environment(), out, error);
  return {code, out.str(), error.str()};
}

TEST(Program, ExceptionsAreErrorsWithTheirExitCodes) {
  const Answer memory = CallOne([]() -> absl::StatusOr<int> { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code, 4);
  EXPECT_EQ(memory.error, "trainer: do: there is no more memory\n");
  const Answer thread = CallOne([]() -> absl::StatusOr<int> {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(thread.code, 4);
  EXPECT_EQ(thread.error.find("trainer: do: cannot start a thread: Resource temporarily unavailable; "), 0U);
  const Answer bug = CallOne([]() -> absl::StatusOr<int> { throw std::out_of_range("map::at"); });
  EXPECT_EQ(bug.code, 1);
  EXPECT_EQ(bug.error, "trainer: unexpected: map::at\n");
}

TEST(Program, AnErrorIsOneLineThatATerminalCanTake) {
  const auto line = [](const std::string& message) {
    return CallOne([&]() -> absl::StatusOr<int> { return ResourceExhausted("{}", message); }).error;
  };
  EXPECT_EQ(line("caf\xc3\xa9.pbtxt: wrong"), "trainer: caf\xc3\xa9.pbtxt: wrong\n");
  EXPECT_EQ(line("\x1b[2Ja\nb\x7f"), "trainer: \\x1b[2Ja\\x0ab\\x7f\n");
  EXPECT_EQ(line("\xc2\x9b"
                 "2J \xff \xe2\x82"),
            "trainer: \\xc2\\x9b2J \\xff \\xe2\\x82\n")
      << "no C1, no half characters";
  const std::string text = std::string(50'000, 'a') + std::string(50'000, 'b');
  EXPECT_EQ(line(text), "trainer: " + std::string(3072, 'a') + " ... " + std::string(1024, 'b') + "\n");
  std::string wide;
  while (wide.size() < 5000) wide += "\xe2\x82\xac";
  EXPECT_EQ(line(wide).find('\\'), std::string::npos) << "no character is cut";
}

TEST(Program, Helps) {
  const std::string usage = Call({"help"}).out;
  EXPECT_THAT(usage, HasSubstr("train it"));
  EXPECT_EQ(Call({"--help"}).out, usage);
  EXPECT_EQ(Call({"-h"}).out, usage);
  const std::string train = Call({"train", "--help"}).out;
  EXPECT_THAT(train, HasSubstr("--epochs=N"));
  EXPECT_THAT(train, HasSubstr("passes of training (default 3)"));
  EXPECT_EQ(Call({"train", "-h"}).out, train);
  EXPECT_EQ(Call({"help", "train"}).out, train);
  EXPECT_EQ(Call({"--help", "train"}).out, train);
  EXPECT_EQ(Call({"help", "--help"}).out, usage);
  EXPECT_EQ(Call({"help", "help"}).out, usage);
  EXPECT_THAT(Call({"train", "--help-all"}).out, HasSubstr("TRAINER_EPOCHS"));
  EXPECT_EQ(Call({"train", "--help"}).code, 0);
  EXPECT_THAT(Call({"train", "--dump-config"}).out, ::testing::StartsWith("# epochs = \"3\"\n"));
  EXPECT_THAT(Call({"help", "trian"}).error, HasSubstr("did you mean 'train'?"));
  EXPECT_EQ(Call({"help", "train", "fail"}).code, 2);
}

TEST(Program, SaysItsVersion) {
  EXPECT_THAT(Call({"--version"}).out, ::testing::MatchesRegex("trainer [0-9.]+, revision [0-9a-z-]+\n"));
  EXPECT_EQ(Call({"--version"}).code, 0);
  EXPECT_THAT(Call({"--verson"}).error, HasSubstr("did you mean '--version'?"));
  EXPECT_EQ(Call({"--epochs=2", "train"}).error,
            "trainer: '--epochs=2' stands before the command: trainer COMMAND [flags]\n");
}

TEST(Program, WarnsOfVariablesThatAreNoFlags) {
  World world;
  world.variables = {{"TRAINER_EPOCH", "2"}, {"TRAINER_SAVE", "x"}, {"TRAINER_XYZZY", "1"}, {"TRAINERS", "1"}};
  const Answer answer = Call({"train", "g"}, world);
  EXPECT_EQ(answer.code, 130);
  EXPECT_EQ(answer.out, "epochs 3");
  EXPECT_EQ(answer.error,
            "trainer: warning: environment variable 'TRAINER_EPOCH' is no flag and changes nothing; did you mean "
            "'TRAINER_EPOCHS'?\n"
            "trainer: warning: environment variable 'TRAINER_XYZZY' is no flag and changes nothing\n");
}

TEST(Program, OffersTheChoicesOfTheCommand) {
  EXPECT_THAT(Call({"fail", "--help"}).out, HasSubstr("--format=text "));
  EXPECT_EQ(Call({"fail", "--format=json"}).error,
            "trainer: flag --format: the value is 'json'; one of text is needed\n");
  EXPECT_EQ(Call({"fail", "--format=json"}).code, 2);
  EXPECT_THAT(Call({"train", "--save=x", "g"}).error, HasSubstr("'--save' is of other commands"));
}

TEST(FlagHelp, HasGroupsAndALineBelowWhereAFlagTakesMoreThanItsColumn) {
  const std::vector<FlagDefinition> known = Known();
  std::vector<FlagDefinition> flags;
  for (const char* const name : {"augment", "data", "split"}) {
    flags.push_back(*std::ranges::find(known, name, &FlagDefinition::name));
  }
  const std::string space(26, ' ');
  EXPECT_EQ(FlagHelp(flags, false, "trainer"),
            "\nTest\n  --augment               shift and flip\n"
            "\nFiles\n  --data=FOLDER           images\n"
            "  --split=channels|output_channels\n" +
                space + "how (default channels)\n");
  EXPECT_THAT(FlagHelp(flags, true, "trainer"), HasSubstr("TRAINER_AUGMENT"));
}

TEST(FlagHelp, FitsEightyColumns) {
  for (const bool full : {false, true}) {
    std::istringstream text(FlagHelp(TrainerFlags(), full, "trainer"));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  const std::string words = "twelve words of a text that is much too long for what is left";
  EXPECT_EQ(HelpEntry("name", 50, words), "  name" + std::string(44, ' ') + "twelve words of a text that is\n" +
                                              std::string(50, ' ') + "much too long for what is left\n");
}

TEST(TrainerFlags, EveryDefaultIsAllowed) {
  for (const FlagDefinition& definition : TrainerFlags()) {
    if (definition.default_value.empty()) continue;
    EXPECT_TRUE(CheckFlagValue(definition, definition.default_value).ok()) << definition.name;
  }
}

TEST(TrainerFlags, HaveOneNameEach) {
  std::set<std::string> names;
  for (const FlagDefinition& definition : TrainerFlags()) {
    EXPECT_TRUE(names.insert(definition.name).second) << definition.name;
    EXPECT_FALSE(definition.help.empty()) << definition.name;
    EXPECT_LT(definition.least, definition.type == FlagType::kInt ? definition.most : 1e300) << definition.name;
  }
}

}  // namespace
}  // namespace partita
