// Processes agree on kernels, played by threads over a job in memory.
#include "runtime/api/job/choose_once.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "runtime/base/status.h"
#include "tests/runtime/api/job/thread_job.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 3;

// Chooses "own <rank>" for everything, unless it has adopted another's choice.
class NamedKernels : public KernelLibrary {
 public:
  explicit NamedKernels(int rank) : choice_("own " + std::to_string(rank)) {}

  absl::StatusOr<KernelChoice> Choose(const LocalNode&) const override { return KernelChoice{choice_, 0, true}; }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode&, const KernelChoice&,
                                                 KernelArguments) const override {
    return Internal("nothing runs here");
  }
  std::string Choices() const override { return choice_; }
  absl::Status Adopt(const std::string& choices) override {
    if (!choices.starts_with("own ")) return InvalidArgument("'{}' is no choice", choices);
    choice_ = choices;
    return absl::OkStatus();
  }

 private:
  std::string choice_;
};

struct Outcome {
  absl::Status status;
  std::string kernel;
};

// What every process gets; `choosing` is called before each chooses.
std::vector<Outcome> Everywhere(Meeting& meeting, const std::function<absl::Status(int)>& choosing) {
  std::vector<Outcome> outcomes(kRanks);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < kRanks; ++rank) {
    processes.emplace_back([&, rank] {
      ThreadJob job(rank, meeting);
      NamedKernels kernels(rank);
      const auto choose = [&]() -> absl::Status {
        RETURN_IF_ERROR(choosing(rank));
        ASSIGN_OR_RETURN(const KernelChoice choice, kernels.Choose({}));
        outcomes[rank].kernel = choice.kernel;
        return absl::OkStatus();
      };
      outcomes[rank].status = ChooseOnce(job, kernels, choose, milliseconds(5));
    });
  }
  for (std::thread& process : processes) process.join();
  return outcomes;
}

TEST(ChooseOnce, TheLowestRankChoosesForAll) {
  Meeting meeting(kRanks);
  std::mutex mutex;
  std::vector<int> order;
  for (const Outcome& outcome : Everywhere(meeting, [&](int rank) {
         const std::lock_guard lock(mutex);
         order.push_back(rank);
         return absl::OkStatus();
       })) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.kernel, "own 0");
  }
  ASSERT_EQ(order.size(), size_t{kRanks});
  EXPECT_EQ(order[0], 0);
}

// The others are told again and again, so that none of them takes rank 0 for lost.
TEST(ChooseOnce, TheOthersHearThatItTakesLong) {
  Meeting meeting(kRanks);
  for (const Outcome& outcome : Everywhere(meeting, [&meeting](int rank) {
         while (rank == 0 && meeting.rounds <= 2) std::this_thread::sleep_for(milliseconds(1));
         return absl::OkStatus();
       })) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.kernel, "own 0");
  }
  EXPECT_GT(meeting.rounds, 2);
}

TEST(ChooseOnce, AFailureOfTheLowestRankIsEverybodys) {
  Meeting meeting(kRanks);
  const auto outcomes = Everywhere(meeting, [](int) { return ResourceExhausted("it does not fit"); });
  EXPECT_EQ(outcomes[0].status, ResourceExhausted("it does not fit"));
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(outcomes[rank].status, Unavailable("rank 0 could not choose kernels: it does not fit"));
  }
}

TEST(ChooseOnce, AnotherRanksFailureIsItsOwn) {
  Meeting meeting(kRanks);
  const auto outcomes = Everywhere(
      meeting, [](int rank) { return rank == 2 ? InvalidArgument("no kernel takes it") : absl::OkStatus(); });
  EXPECT_TRUE(outcomes[0].status.ok());
  EXPECT_TRUE(outcomes[1].status.ok());
  EXPECT_EQ(outcomes[2].status, InvalidArgument("no kernel takes it"));
}

// A job in which rank 0 says what it likes, or is gone.
class ScriptedJob : public Job {
 public:
  ScriptedJob(int rank, std::vector<absl::StatusOr<std::string>> script) : ranks_({rank}), script_(std::move(script)) {}
  const std::vector<int>& ranks() const override { return ranks_; }
  World& world() override { std::abort(); }
  milliseconds join_timeout() const override { return milliseconds(1); }
  absl::StatusOr<std::vector<std::string>> AllGather(const Message&) override {
    const absl::StatusOr<std::string> next = script_.at(round_++);
    RETURN_IF_ERROR(next.status());
    return std::vector<std::string>{*next, ""};
  }
  int64_t gathered_bytes() const override { return 0; }

 private:
  const std::vector<int> ranks_;
  const std::vector<absl::StatusOr<std::string>> script_;
  size_t round_ = 0;
};

TEST(ChooseOnce, WhatRank0SaysIsNotTrusted) {
  int chosen = 0;
  const auto outcome = [&](int rank, std::vector<absl::StatusOr<std::string>> script) {
    ScriptedJob job(rank, std::move(script));
    NamedKernels kernels(rank);
    return ChooseOnce(
        job, kernels,
        [&] {
          ++chosen;
          return absl::OkStatus();
        },
        milliseconds(1));
  };
  const absl::Status gone = absl::UnavailableError("rank 0 is gone");
  EXPECT_EQ(outcome(1, {"w", "w", gone}), gone);
  EXPECT_EQ(outcome(1, {""}), Unavailable("rank 0 does not say which kernels it has chosen"));
  EXPECT_EQ(outcome(1, {"cnonsense"}), InvalidArgument("kernels chosen by rank 0: 'nonsense' is no choice"));
  EXPECT_EQ(chosen, 0);
  EXPECT_TRUE(outcome(1, {"w", "cown 0"}).ok());
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(outcome(0, {gone}), gone);
}

}  // namespace
}  // namespace partita
