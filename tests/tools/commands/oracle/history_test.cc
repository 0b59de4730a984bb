// Lines of a history, and errors that were reckoned by hand.
#include "tools/commands/oracle/history.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>

#include "runtime/base/files.h"
#include "tools/commands/oracle/error_summary.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Errors of the step: 1/2, 1/4 and 0; of memory: 1.
constexpr char kHistory[] =
    R"({"model":"a","strategy":"data:2","time":"t1","terms":{"step":{"predicted":3,"measured":2}}}
{"model":"b","strategy":"data:1","time":"t2","terms":{"step":{"predicted":3,"measured":4},"memory":{"predicted":4e6,"measured":2e6}}}

{"model":"c","terms":{"step":{"predicted":0.5,"measured":0.5}},"later":"fields of later programs"}
)";

std::string Refusal(const std::string& text) {
  const absl::Status status = ParseHistory(text, "h.jsonl").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(History, ErrorsAreThoseByHand) {
  const auto runs = ParseHistory(kHistory, "h.jsonl");
  ASSERT_TRUE(runs.ok()) << runs.status();
  const std::vector<ErrorSummary> errors = SummariseErrors(*runs);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].kind, "step");
  EXPECT_EQ(errors[0].runs, 3);
  EXPECT_DOUBLE_EQ(errors[0].mean, 0.25);
  EXPECT_DOUBLE_EQ(errors[0].median, 0.25);
  EXPECT_DOUBLE_EQ(errors[0].worst, 0.5);
  EXPECT_EQ(errors[0].worst_run, "a on data:2 at t1");
  EXPECT_EQ(errors[1].kind, "memory");
  EXPECT_EQ(errors[1].runs, 1);
  EXPECT_DOUBLE_EQ(errors[1].worst, 1);
  EXPECT_THAT(ToText(errors),
              HasSubstr("step                              3    25.0 %    25.0 %    50.0 %   a on data:2 at t1\n"));
  EXPECT_THAT(ToJson(errors), HasSubstr("\"median\": 0.25"));
}

TEST(History, OfNoRunsHasNoErrors) {
  EXPECT_TRUE(SummariseErrors({}).empty());
  EXPECT_THAT(ToText({}), StartsWith("error of"));
}

TEST(History, LinesAreReadAsTheyWereAppended) {
  const std::string path = testing::TempDir() + "/new-folder/history.jsonl";
  std::remove(path.c_str());
  const GradedRun run{"t", "net \"x\"", "data:2", "cpu", "here", "r", 20, {{"step", 0.1, 0.3}, {"memory", 5, 6}}};
  ASSERT_TRUE(AppendRun(path, run).ok());
  ASSERT_TRUE(AppendRun(path, run).ok());
  const auto runs = LoadHistory(path);
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ(ToLine(runs->back()), ToLine(run));
  EXPECT_EQ(runs->back().terms[0].predicted, 0.1);
  EXPECT_EQ(*ReadFile(path, 1 << 20), ToLine(run) + "\n" + ToLine(run) + "\n");
}

TEST(History, WhatCannotBeWrittenIsSaid) {
  EXPECT_THAT(std::string(AppendRun("/proc/history.jsonl", {}).message()), HasSubstr("cannot write"));
  EXPECT_EQ(AppendRun("/dev/full", {}).code(), absl::StatusCode::kResourceExhausted);
  const std::string pipe = testing::TempDir() + "/pipe.jsonl";
  std::remove(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(AppendRun(pipe, {}).message()), HasSubstr("cannot write"));  // nothing reads it
}

TEST(History, WrongLinesAreNamedByTheirNumber) {
  const std::string good(kHistory);
  EXPECT_THAT(Refusal(good + "{\"terms\":"), StartsWith("h.jsonl: line 5: it is no JSON object"));
  EXPECT_THAT(Refusal("[1]"), StartsWith("h.jsonl: line 1: it is no JSON object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("line 1: field terms is missing"));
  EXPECT_THAT(Refusal(R"({"model":3,"terms":{}})"), HasSubstr("field model is 3; text is needed"));
  EXPECT_THAT(Refusal(R"({"steps":-1,"terms":{}})"), HasSubstr("field steps is -1; 0 or more is needed"));
  EXPECT_THAT(Refusal("\n"
                      R"({"terms":{"step":{"predicted":1,"measured":0}}})"),
              HasSubstr("line 2: terms: step: field measured is 0; a number greater than 0 is needed"));
  EXPECT_THAT(Refusal(R"({"terms":{"step":{"predicted":-1,"measured":1}}})"),
              HasSubstr("field predicted is -1; 0 or more is needed"));
  EXPECT_THAT(Refusal(R"({"terms":{"step":{"measured":1}}})"), HasSubstr("field predicted is missing"));
  EXPECT_THAT(Refusal(R"({"terms":{"step":7}})"), HasSubstr("terms: step is 7; an object is needed"));
}

}  // namespace
}  // namespace partita
