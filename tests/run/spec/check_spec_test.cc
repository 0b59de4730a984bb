// What fields of a run's description need beside them, and exclude.
#include "run/spec/check_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "run/spec/flag.h"
#include "run/spec/spec_error.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Fields = std::map<std::string, std::string>;

RunSpec SpecOf(const Fields& fields) {
  const std::vector<FlagDefinition> flags = FlagsOf(*RunSpec::descriptor());
  RunSpec spec;
  for (const auto& [name, value] : fields) {
    const auto flag = std::ranges::find(flags, name, &FlagDefinition::name);
    EXPECT_NE(flag, flags.end()) << name;
    if (flag != flags.end()) SetValue(*flag, value, spec);
  }
  return spec;
}

std::string ErrorOf(const std::string& command, const Fields& fields) {
  const absl::Status status = CheckSpec(SpecOf(fields), command);
  EXPECT_EQ(status.ok(), !status.GetPayload(kFlagErrorPayload).has_value());
  return std::string(status.message());
}

TEST(CheckSpec, AcceptsFieldsThatGoTogether) {
  EXPECT_EQ(ErrorOf("train", {}), "");
  EXPECT_EQ(ErrorOf("train", {{"dp", "2"}, {"mp", "2"}, {"save", "a"}, {"save-every", "5"}}), "");
  EXPECT_EQ(ErrorOf("train", {{"search", "grid"}, {"profile", "p.pbtxt"}, {"save-strategy", "s.pb"}}), "");
  EXPECT_EQ(ErrorOf("train", {{"device", "cuda"}, {"gpu", "1"}, {"tf32", "true"}, {"launch-each", "true"}}), "");
  EXPECT_EQ(ErrorOf("predict", {{"load", "m"}, {"output", "p.NPY"}}), "") << "as files of other systems are named";
  EXPECT_EQ(ErrorOf("plan", {{"search", "auto"}, {"solver", "cbc"}, {"cluster", "c"}}), "");
  EXPECT_EQ(ErrorOf("plan", {{"dump-after", "decompose"}, {"format", "text"}}), "");
  EXPECT_EQ(ErrorOf("train", {{"trace", "t.json"}}), "") << "of a run, not of a prediction";
}

// A switch that is off, or a value that is the default's, is as good as not given.
TEST(CheckSpec, AcceptsWhatChangesNothing) {
  EXPECT_EQ(ErrorOf("train", {{"tf32", "false"}, {"gpu", "-1"}, {"save-every", "0"}, {"search", "none"}}), "");
  EXPECT_EQ(ErrorOf("plan", {{"objective", "step"}, {"repair", "false"}, {"explain", "false"}}), "");
  EXPECT_EQ(ErrorOf("train", {{"data", "d"}, {"mock-data", "false"}}), "");
  EXPECT_EQ(ErrorOf("train", {{"metrics-every", "10"}}), "");
}

TEST(CheckSpec, AsksForNoWeightsOfAnExportedProgram) {
  for (const char* const command : {"evaluate", "predict"}) {
    RunSpec spec = SpecOf({{"output", "p.npy"}});
    spec.mutable_model()->set_graph("model.pt2");
    EXPECT_TRUE(CheckSpec(spec, command).ok()) << command;
    spec.mutable_model()->set_graph("model.pbtxt");
    EXPECT_EQ(CheckSpec(spec, command).message(), std::string(command) + " needs --load=FILE: what train --save wrote");
  }
}

TEST(CheckSpec, NamesWhatACommandNeeds) {
  EXPECT_EQ(ErrorOf("evaluate", {}), "evaluate needs --load=FILE: what train --save wrote");
  EXPECT_THAT(ErrorOf("predict", {{"load", "m"}}), StartsWith("predict needs --output=FILE: "));
  EXPECT_THAT(ErrorOf("decode", {{"load", "m"}, {"output", "o"}}), StartsWith("decode needs --data="));
  EXPECT_THAT(ErrorOf("sweep", {}), StartsWith("sweep needs --cluster=FILE or --profile=FILE: "));
  EXPECT_THAT(ErrorOf("calibrate", {}), StartsWith("calibrate needs --save-profile=FILE: "));
}

TEST(CheckSpec, NamesWhatAFieldNeeds) {
  EXPECT_EQ(ErrorOf("train", {{"search", "auto"}}),
            "flag --search=auto needs --cluster or --profile: for which machines to plan");
  EXPECT_EQ(ErrorOf("train", {{"tf32", "true"}}), "flag --tf32 needs --device=cuda: the host computes f32 in f32");
  EXPECT_THAT(ErrorOf("train", {{"gpu", "0"}}), StartsWith("flag --gpu=0 needs --device=cuda"));
  EXPECT_THAT(ErrorOf("train", {{"save-every", "3"}}),
              StartsWith("flag --save-every=3 needs --save or --save-adapter: "));
  EXPECT_THAT(ErrorOf("plan", {{"solver", "cbc"}, {"cluster", "c"}, {"search", "grid"}}),
              StartsWith("flag --solver=cbc needs --search=placement or --search=auto: "));
  EXPECT_THAT(ErrorOf("plan", {{"save-strategy", "s.pb"}}),
              StartsWith("flag --save-strategy needs --search or --repair"));
  EXPECT_THAT(ErrorOf("train", {{"save-strategy", "s.pb"}}), StartsWith("flag --save-strategy needs --search: "));
  EXPECT_THAT(ErrorOf("calibrate", {{"search", "auto"}, {"save-profile", "p.pb"}}),
              StartsWith("flag --search=auto needs --ranks: "));
}

TEST(CheckSpec, NamesFieldsThatExcludeEachOther) {
  EXPECT_EQ(ErrorOf("train", {{"data", "d"}, {"mock-data", "true"}}),
            "flags --data and --mock-data are given; one of them is allowed");
  EXPECT_THAT(ErrorOf("train", {{"strategy", "s"}, {"mp", "2"}}), StartsWith("flags --strategy and --mp are given; "));
  EXPECT_THAT(ErrorOf("train", {{"search", "data"}, {"dp", "2"}, {"cluster", "c"}}),
              StartsWith("flags --search=data and --dp are given; "));
  EXPECT_THAT(ErrorOf("plan", {{"dump-after", "adjoint"}, {"format", "json"}}),
              StartsWith("flags --dump-after and --format=json are given; a dump is text"));
  EXPECT_THAT(ErrorOf("plan", {{"objective", "cost"}, {"diff", "s"}, {"cluster", "c"}}),
              StartsWith("flags --objective=cost and --diff are given; "));
  EXPECT_THAT(ErrorOf("decode", {{"load", "m"}, {"output", "o"}, {"data", "d"}, {"long-pairs", "skip"}}),
              HasSubstr("--long-pairs=skip are given; "));
}

TEST(CheckSpec, NamesTheEndingsThatAFileMayHave) {
  EXPECT_EQ(ErrorOf("train", {{"report", "r.txt"}}), "flag --report: r.txt has another ending; expected .json");
  EXPECT_THAT(ErrorOf("predict", {{"load", "m"}, {"output", "p.txt"}}), HasSubstr("expected .npy or .csv"));
  EXPECT_EQ(ErrorOf("convert", {{"output", "anything"}}), "");
}

}  // namespace
}  // namespace partita
