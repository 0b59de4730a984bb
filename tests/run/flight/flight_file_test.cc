// Records are read as they were written; what is wrong with a file is said, and the others are read all the same.
#include "run/flight/flight_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "run/flight/flight_folder.h"
#include "runtime/base/files.h"

namespace partita {
namespace {

using State = FlownOperation::State;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NewFolder() {
  std::string folder = ::testing::TempDir() + "/flight.XXXXXX";
  return mkdtemp(folder.data());
}

FlightRecord Example(int rank) {
  FlightRecord record{rank, 3, 123'456, "rank 2 is gone", {{0, {0, 1, 2}}, {-1, {0, 1, 2}}}, {}};
  int64_t sequence = 0;
  for (const State state : {State::kRunning, State::kWaiting, State::kEnded, State::kFailed}) {
    ++sequence;
    record.operations.push_back({0, sequence, "all_gather", 12, "f32", state, 100, 200});
  }
  return record;
}

std::string Text(const std::string& path) { return *ReadFile(path, 1 << 20); }

TEST(FlightFile, IsReadAsItWasWritten) {
  const std::string folder = NewFolder(), path = folder + "/a.pbtxt", again = folder + "/b.pbtxt";
  ASSERT_TRUE(SaveFlightRecord(Example(1), path).ok());
  const auto record = LoadFlightRecord(path);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->rank, 1);
  EXPECT_EQ(record->fault, "rank 2 is gone");
  EXPECT_EQ(record->groups, Example(1).groups);
  ASSERT_EQ(record->operations.size(), 4u);
  EXPECT_EQ(record->operations[3].state, State::kFailed);
  ASSERT_TRUE(SaveFlightRecord(*record, again).ok());
  EXPECT_EQ(Text(again), Text(path));
}

// Other versions of the program may have operations that this one does not have.
TEST(FlightFile, AnUnknownOperationIsRead) {
  const std::string path = NewFolder() + "/a.pbtxt";
  FlightRecord record = Example(1);
  record.operations[0].name = "send_receive";
  ASSERT_TRUE(SaveFlightRecord(record, path).ok());
  const auto read = LoadFlightRecord(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->operations[0].name, "send_receive");
}

TEST(FlightFile, SaysWhatIsWrong) {
  const std::string path = NewFolder() + "/a.pbtxt";
  ASSERT_TRUE(SaveFlightRecord(Example(1), path).ok());
  const std::string good = Text(path);
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"rank: 1\n", "rank: 3\n", "rank: found 3, allowed are 0 to 2"},
      {"ranks: 3\n", "ranks: 0\n", "ranks: found 0, allowed are 1 to 16384"},
      {"time: 123456", "time: -1", "time: found -1"},
      {"ranks: [0, 1, 2]", "ranks: [0, 1, 3]", "groups[0].ranks: found 3"},
      {"id: -1 ", "id: 0 ", "groups[1].id: 0 is there twice"},
      {"\"waiting\"", "\"asleep\"",
       "operations[1]: state: found 'asleep', allowed are running, waiting, ended, failed, launched"},
      {"sequence: 1 ", "sequence: 0 ", "operations[0]: sequence: found 0"},
      {"count: 12", "count: -2", "operations[0]: count: found -2"},
      {"begin: 100", "begin: -1", "operations[0]: begin: found -1"},
      {"schema_version: 1", "schema_version: 2", "schema_version"},
      {"rank: 1\n", "wings: 2\n", "wings"},
  };
  for (const auto& [from, to, says] : cases) {
    std::string bad = good;
    const size_t place = bad.find(from);
    ASSERT_NE(place, std::string::npos) << from << " in " << good;
    bad.replace(place, from.size(), to);
    ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
    const absl::Status status = LoadFlightRecord(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path), HasSubstr(says)));
  }
}

TEST(FlightFolder, TheNewestRunIsRead) {
  const std::string folder = NewFolder();
  ASSERT_TRUE(SaveFlightRecords({Example(0)}, folder, "20261122T100000.000Z-1").ok());
  ASSERT_TRUE(SaveFlightRecords({Example(0), Example(2)}, folder, "20261123T100000.000Z-1").ok());
  std::filesystem::create_directory(folder + "/20261124T100000.000Z-1");  // nobody has written there
  const auto run = LoadFlightRun(folder);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->records.size(), 2u);
  EXPECT_EQ(run->records[1].rank, 2);
  EXPECT_EQ(LoadFlightRun(folder + "/20261122T100000.000Z-1")->records.size(), 1u);
}

TEST(FlightFolder, WhatCannotBeReadIsNamed) {
  const std::string folder = NewFolder();
  ASSERT_TRUE(SaveFlightRecords({Example(0), Example(1)}, folder, "run").ok());
  const std::string run_folder = folder + "/run";
  std::filesystem::copy(run_folder + "/rank-00001.pbtxt", run_folder + "/rank-00002.pbtxt");
  ASSERT_TRUE(WriteFileAtomically(run_folder + "/rank-00001.pbtxt", "schema_version: 1\nrank: ").ok());
  const auto run = LoadFlightRun(folder);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->records.size(), 1u);
  EXPECT_THAT(run->unread, ElementsAre(HasSubstr("rank-00001.pbtxt"), HasSubstr("rank-00002.pbtxt: rank: found 1")));
  std::filesystem::remove(run_folder + "/rank-00000.pbtxt");
  EXPECT_THAT(std::string(LoadFlightRun(folder).status().message()), HasSubstr("rank-00001.pbtxt"));
  EXPECT_THAT(std::string(LoadFlightRun(NewFolder()).status().message()), HasSubstr("--flight-recorder writes them"));
  EXPECT_THAT(std::string(LoadFlightRun("/nowhere").status().message()), HasSubstr("/nowhere: cannot be read"));
}

TEST(FlightFolder, RunsAreInTheOrderOfTheirNames) {
  const std::string first = NewRunName();
  EXPECT_THAT(first, ::testing::MatchesRegex("[0-9]{8}T[0-9]{6}\\.[0-9]{3}Z-[0-9]+"));
  EXPECT_LE(first, NewRunName());
}

}  // namespace
}  // namespace partita
