// What a process of a job keeps of schedules: those of its own ranks; and what it knows of the others.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/runtime/api/job/thread_job.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

size_t SchedulesKept(const Session& session) {
  size_t kept = 0;
  for (const EntryPoint& entry : session.program().entries) kept += session.schedules(entry.name).size();
  return kept;
}

void ExpectTheSame(const Schedule& own, const Schedule& all) {
  EXPECT_EQ(own.rank, all.rank);
  ASSERT_EQ(own.launches.size(), all.launches.size());
  for (size_t l = 0; l < own.launches.size(); ++l) {
    EXPECT_EQ(own.launches[l].name, all.launches[l].name);
    const auto* const a = std::get_if<CollectiveLaunch>(&own.launches[l].work);
    const auto* const b = std::get_if<CollectiveLaunch>(&all.launches[l].work);
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (a != nullptr) {
      EXPECT_EQ(a->group, b->group);
    }
  }
  ASSERT_EQ(own.states.size(), all.states.size());
  for (size_t s = 0; s < own.states.size(); ++s) EXPECT_EQ(own.states[s].tensor.box, all.states[s].tensor.box);
}

// 7 rows over replicas: blocks of two sizes.
TEST(OwnSchedules, AProcessKeepsNoOthers) {
  const auto threads = SmallSession("mlp", "2x2");
  const int ranks = threads->ranks();
  const size_t entries = threads->program().entries.size();
  EXPECT_EQ(SchedulesKept(*threads), entries * static_cast<size_t>(ranks));
  Meeting meeting(ranks);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.emplace_back([&, rank] {
      SessionOptions options = SmallOptions();
      options.job = std::make_shared<ThreadJob>(rank, meeting);
      const auto session = SmallSession("mlp", "2x2", options);
      EXPECT_EQ(SchedulesKept(*session), entries);
      for (const EntryPoint& entry : session->program().entries) {
        ExpectTheSame(session->schedule(entry.name, rank), threads->schedule(entry.name, rank));
        FoldedSchedules storage;
        const auto all = session->AllSchedules(entry.name, storage);
        ASSERT_TRUE(all.ok()) << all.status();
        ASSERT_EQ(all->size(), static_cast<size_t>(ranks));
        for (int other = 0; other < ranks; ++other) {
          EXPECT_EQ((*all)[other]->launches.size(), threads->schedule(entry.name, other).launches.size());
        }
      }
      for (int other = 0; other < ranks; ++other) {
        EXPECT_EQ(session->PlannedMemory(other).total, threads->PlannedMemory(other).total) << other;
      }
      for (const std::string& state : session->StateNames()) {
        const auto whole = session->ReadState(state);
        ASSERT_TRUE(whole.ok()) << whole.status();
        EXPECT_EQ(whole->shape,
                  threads->program().state_graph().type(threads->program().state_graph().Find(state)).shape);
        EXPECT_TRUE(session->ReplicasEqual(state).value()) << state;
      }
      EXPECT_EQ(session->ReplicasEqual("no such state").status().code(), absl::StatusCode::kInvalidArgument);
    });
  }
  for (std::thread& process : processes) process.join();
}

}  // namespace
}  // namespace partita
