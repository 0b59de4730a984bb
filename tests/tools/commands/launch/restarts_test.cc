// Which rank a failure is put down to, whether a job is started again, and for how many ranks.
#include "tools/commands/launch/restarts.h"

#include <gtest/gtest.h>

#include "tools/commands/launch/fewer_ranks.h"
#include "tools/program/exit_code.h"
#include "tools/program/flags.h"

namespace partita {
namespace {

ProcessEnd Exited(int rank, int code) { return {.rank = rank, .code = code}; }
ProcessEnd Killed(int rank, int signal) { return {.rank = rank, .code = 128 + signal, .by_signal = true}; }
ProcessEnd Asked(int rank, bool stopped) {
  return {.rank = rank, .code = 128 + SIGRTMIN, .by_signal = true, .asked = true, .stopped = stopped};
}

JobEnd Ended(std::vector<ProcessEnd> ends) {
  JobEnd end{.ends = std::move(ends)};
  for (const ProcessEnd& one : end.ends) end.code = end.code == 0 ? one.code : end.code;
  return end;
}

std::vector<int> CulpritRanks(const JobEnd& end) {
  std::vector<int> ranks;
  for (const ProcessEnd& culprit : Culprits(end)) ranks.push_back(culprit.rank);
  return ranks;
}

TEST(JobEnd, TheOneThatWasKilledIsToBlame) {
  // The others may be seen to end first.
  EXPECT_EQ(CulpritRanks(Ended({Exited(0, 138), Killed(2, SIGKILL), Exited(1, 138)})), std::vector<int>{2});
  EXPECT_EQ(CulpritRanks(Ended({Exited(0, 138), Exited(1, 3), Asked(2, false)})), std::vector<int>{1});
}

TEST(JobEnd, OfThoseThatWereGivenUpTheStoppedOne) {
  EXPECT_EQ(CulpritRanks(Ended({Exited(0, 138), Asked(1, false), Asked(2, true)})), std::vector<int>{2});
  EXPECT_EQ(CulpritRanks(Ended({Exited(0, 138), Asked(1, false), Exited(2, 138)})), std::vector<int>{1});
}

TEST(JobEnd, NobodyElseThenTheFirst) {
  EXPECT_EQ(CulpritRanks(Ended({Exited(1, 138), Exited(0, 138)})), std::vector<int>{1});
  EXPECT_TRUE(CulpritRanks(Ended({Exited(1, 0), Exited(0, 0)})).empty());
}

TEST(JobEnd, TheCodeIsTheCulprits) {
  EXPECT_EQ(CodeOf(Ended({Exited(0, 138), Exited(1, 4)})), 4);
  EXPECT_EQ(CodeOf(Ended({Exited(0, 138), Killed(1, SIGKILL)})), 128 + SIGKILL);
  EXPECT_EQ(CodeOf(Ended({Exited(0, 3), Exited(1, 138), Exited(2, 4)})), 3);
  EXPECT_EQ(CodeOf(Ended({Exited(0, 138), Asked(1, true)})), 138);
  EXPECT_EQ(CodeOf(Ended({Exited(0, 0), Exited(1, 0)})), 0);
}

TEST(JobEnd, WhatAnotherStartMends) {
  for (const ProcessEnd& end : {Killed(0, SIGKILL), Killed(0, SIGSEGV), Exited(0, 138), Asked(0, true)}) {
    EXPECT_TRUE(MayBeStartedAgain(Ended({end}))) << HowItEnded(end);
  }
  std::vector<ProcessEnd> hopeless = {Killed(0, SIGTERM), Killed(0, SIGINT), Exited(0, 143)};
  for (int code = kExitInternal; code <= kExitNoDevice; ++code) hopeless.push_back(Exited(0, code));
  for (const ProcessEnd& end : hopeless) EXPECT_FALSE(MayBeStartedAgain(Ended({end}))) << HowItEnded(end);
  EXPECT_FALSE(MayBeStartedAgain(Ended({Killed(0, SIGKILL), Exited(1, kExitNonFinite)})));
  JobEnd told = Ended({Killed(0, SIGKILL)});
  told.told = true;
  EXPECT_FALSE(MayBeStartedAgain(told));
  EXPECT_FALSE(MayBeStartedAgain(Ended({Exited(0, 0)})));
}

TEST(Restarts, AreCountedAndFailuresNamed) {
  Restarts restarts(2);
  EXPECT_TRUE(restarts.Follows(Ended({Killed(2, SIGKILL), Exited(0, 138)}), 4));
  EXPECT_EQ(restarts.Sentence(), "rank 2 of 4 failed: signal 9; all start again (1 of 2)");
  EXPECT_TRUE(restarts.Follows(Ended({Exited(0, 138)}), 4));
  EXPECT_FALSE(restarts.Follows(Ended({Killed(2, SIGSEGV)}), 4));
  EXPECT_EQ(
      restarts.Sentence(),
      "rank 2 of 4 failed: signal 11; no restart of 2 is left after 3 failures (rank 0 of 4: exit code 138; rank 2 "
      "of 4: signal 9, signal 11)");
}

TEST(Restarts, AreNotForWhatTheyDoNotMend) {
  Restarts restarts(2);
  EXPECT_FALSE(restarts.Follows(Ended({Exited(1, kExitFiles)}), 2));
  EXPECT_EQ(restarts.Sentence(), "rank 1 of 2 failed: exit code 3, which another start does not mend");
  EXPECT_FALSE(restarts.Follows(Ended({Exited(0, 0), Exited(1, 0)}), 2));
  EXPECT_EQ(restarts.Sentence(), "");
}

TEST(Restarts, NothingIsSaidWhereNoneWereAskedFor) {
  Restarts none(0);
  EXPECT_FALSE(none.Follows(Ended({Killed(2, SIGKILL)}), 4));
  EXPECT_EQ(none.Sentence(), "");
}

using Line = std::vector<std::string>;

RunSpec Parsed(const std::vector<std::string>& arguments) {
  const FlagEnvironment nothing = {"trainer", [](const char*) -> const char* { return nullptr; }, nullptr, {}};
  const std::vector<FlagDefinition> flags = FlagsOf(*RunSpec::descriptor());
  RunSpec spec;
  const absl::StatusOr<std::vector<std::string>> rest = ParseFlags(flags, flags, arguments, nothing, spec);
  EXPECT_TRUE(rest.ok()) << rest.status();
  if (!rest->empty()) SetArgument(rest->front(), spec);
  return spec;
}

TEST(FewerRanks, ReplicasStayAsLargeAsTheyWereIfTheyCan) {
  const RunSpec flags = Parsed({"--dp=2", "--mp=2", "--steps", "3", "graph"});
  EXPECT_EQ(CommandFor(3, "train", flags), (Line{"train", "--dp=3", "--mp=1", "--steps=3", "graph"}));
  EXPECT_EQ(CommandFor(2, "train", flags), (Line{"train", "--dp=1", "--mp=2", "--steps=3", "graph"}));
  EXPECT_EQ(CommandFor(1, "train", flags), (Line{"train", "--dp=1", "--mp=1", "--steps=3", "graph"}));
  EXPECT_EQ(CommandFor(6, "train", Parsed({"--ranks=8", "--mp=4"})), (Line{"train", "--dp=2", "--mp=3"}));
}

TEST(FewerRanks, ASearchIsMadeAnew) {
  EXPECT_EQ(CommandFor(3, "train", Parsed({"--search=auto", "--ranks=4"})),
            (Line{"train", "--ranks=3", "--search=auto"}));
}

TEST(FewerRanks, AFileIsForOneNumberOfRanks) {
  EXPECT_TRUE(CheckElastic(Parsed({"--dp=2"})).ok());
  const absl::Status refused = CheckElastic(Parsed({"--strategy=four.pbtxt"}));
  EXPECT_EQ(ToExitCode(refused), kExitFlags);
  EXPECT_NE(std::string(refused.message()).find("four.pbtxt is for one number of ranks"), std::string::npos);
}

}  // namespace
}  // namespace partita
