// --config files: what is read, what is refused, and what --dump-config writes.
#include "run/spec/config_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include "tests/tools/program/parsed_flags.h"

namespace partita {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string RefusalOf(const std::string& file, const std::string& text) {
  World world;
  world.files[file] = text;
  return Refusal({"--config=" + file}, world);
}

TEST(Config, ADumpHasTheGivenFlagsAndTheDefaultsAsComments) {
  const TestSpec spec = Parse({"--epochs=9", "--save=/a \"b\\c.x", "--augment=false"})->spec;
  EXPECT_EQ(*ToConfig(Known(), spec),
            "augment = \"false\"\nepochs = \"9\"\n# format = \"text\"\n# learning-rate = \"0.5\"\n"
            "save = \"/a \\\"b\\\\c.x\"\n# split = \"channels\"\n");
  World world;
  world.files["/dump"] = *ToConfig(Known(), spec);
  TestSpec again = Parse({"--config=/dump"}, world)->spec;
  again.clear_general();
  EXPECT_TRUE(MessageDifferencer::Equals(again, spec)) << again.DebugString();
  EXPECT_THAT(std::string(ToConfig(Known(), Parse({"--save=\xff"})->spec).status().message()),
              HasSubstr("flag --save: the value is '\\xff', which is not UTF-8"));
}

TEST(Config, StringsAreInDoubleOrSingleQuotes) {
  World world;
  world.files["c"] = "save = 'C:\\new # \"x\"'  # a comment\ndata = \"a\\tb\\\\c\"\r\nskip = a\n";
  const TestSpec spec = Parse({"--config=c"}, world)->spec;
  EXPECT_EQ(spec.files().save(), "C:\\new # \"x\"");
  EXPECT_EQ(spec.files().data(), "a\tb\\c");
  EXPECT_EQ(spec.skip(), "a");
}

TEST(Config, WrongLinesAreRefusedByTheirNumber) {
  const std::pair<std::string, std::string> cases[] = {
      {"epoch = 3", "c:1: key 'epoch' is unknown; did you mean 'epochs'?"},
      {"lr = 3", "c:1: key 'lr' is unknown; did you mean 'learning-rate'?"},
      {"\nepochs = 300", "c:2: key 'epochs': the value is '300'"},
      {"epochs", "line 1: the line is 'epochs'"},
      {"epochs =", "line 1: key 'epochs' has no value"},
      {"epochs = 1\nepochs = 2", "line 2: key 'epochs' is given twice"},
      {"save = \"a", "not closed"},
      {"save = 'a", "not closed by \"'\""},
      {"save = 'a' b", "'b' follows the value"},
      {"save = \"\"\"a\"\"\"", "follows the value"},
      {"save = \"a\\q\"", "unknown escape '\\q'"},
      {"save = [1]", "key 'save' is '[1]'; expected a number, true, false or a \"string\""},
      {"save = {}", "key 'save' is '{}'"},
      {"\nsave = \"\xff\"", "line 2: found bytes that are not UTF-8"},
      {"# \xc3", "line 1: found bytes that are not UTF-8"},
      {"epochs = 1 2", "'2' follows the value"},
      {"config = \"d\"", "c:1: key 'config' is of the command line"},
      {"help = true", "key 'help' is of the command line"},
      {"= 1", "key = value"},
  };
  for (const auto& [text, says] : cases) EXPECT_THAT(RefusalOf("c", text), HasSubstr(says)) << text;
  EXPECT_THAT(Refusal({"--config=none"}), HasSubstr("none: cannot be opened"));
}

TEST(Config, FlagsComeFromJson) {
  World world;
  world.files["c.json"] = R"({"epochs": 7, "learning-rate": 0.25, "augment": true, "format": "json", "skip": 3})";
  const TestSpec spec = Parse({"--config=c.json"}, world)->spec;
  EXPECT_EQ(spec.epochs(), 7);
  EXPECT_EQ(spec.learning_rate(), 0.25);
  EXPECT_TRUE(spec.augment());
  EXPECT_EQ(spec.format(), "json");
  EXPECT_EQ(spec.skip(), "3");
}

TEST(Config, FlagsComeFromTheReportOfARun) {
  World world;
  world.files["r.json"] = R"({"schema_version": 1, "command": "train", "graph": "/g.pb", "graph_hash": "ab",
                              "flags": {"epochs": 8.0, "config": "flags.json", "shift": 2}, "epochs": []})";
  const TestSpec spec = Parse({"--config=r.json", "--learning-rate=1"}, world)->spec;
  EXPECT_EQ(spec.epochs(), 8);
  EXPECT_EQ(spec.learning_rate(), 1);
  EXPECT_EQ(spec.graph(), "/g.pb");
  EXPECT_EQ(spec.general().config(), "r.json");
  const Config report = *ParseJsonConfig(world.files["r.json"]);
  EXPECT_TRUE(report.is_report);
  EXPECT_EQ(report.graph_hash, "ab");
}

TEST(Config, WrongJsonIsRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "expected a JSON object"},
      {"{\"epochs\": [1]}", "key 'epochs' is array"},
      {"{\"epochs\": null}", "key 'epochs' is null"},
      {"{\"epochs\": 1.5}", "the value is '1.5'"},
      {"{\"epoch\": 1}", "did you mean 'epochs'?"},
      {"{\"epochs\": 1, \"epochs\": 2}", "key 'epochs' is given twice"},
      {"{\"flags\": {\"epochs\": 1, \"epochs\": 1}}", "key 'epochs' is given twice"},
      {"{\"flags\": {}, \"graph\": \"a\", \"graph\": \"b\"}", "key 'graph' is given twice"},
      {"{\"config\": \"d.json\"}", "key 'config' is of the command line"},
      {"{\"save\": 5}", "key 'save' is 5; expected a string"},
      {"{\"save\": true}", "key 'save' is true; expected a string"},
      {"{\"flags\": 1}", "key 'flags' is number"},
      {"{\"flags\": {}, \"graph\": 5}", "key 'graph' is 5; expected a string"},
      {"{\"flags\": {}, \"graph_hash\": []}", "key 'graph_hash' is []; expected a string"},
      {"{\"flags\": {}, \"schema_version\": 99}", "key 'schema_version' is 99; expected 1"},
      {"{\"flags\": {}, \"schema_version\": \"1\"}", "key 'schema_version' is \"1\"; expected 1"},
      {"{\"epochs\": 1", "is not JSON: line 1, column 13: "},
      {"{\n\"epochs\" 1}", "is not JSON: line 2, column 10: "},
      {"{\"save\": \"\xff\"}", "is not JSON: line 1, column 11: "},
      {"", "is not JSON: line 1, column 1: "}};
  for (const auto& [text, says] : cases) {
    EXPECT_THAT(RefusalOf("c.json", text), HasSubstr(says)) << text;
    EXPECT_THAT(RefusalOf("c.json", text), StartsWith("c.json: ")) << text;
  }
}

}  // namespace
}  // namespace partita
