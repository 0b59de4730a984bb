// What is true of the host device only: threads, delays, and that a missing wait shows. The rest: tests/conformance.
#include "runtime/device/host/host_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#ifndef PARTITA_NO_OPENMP
#include <omp.h>
#endif

#include "runtime/device/host/cores.h"
#include "runtime/device/host/host_node.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

HostStream& Host(const std::unique_ptr<Stream>& stream) { return static_cast<HostStream&>(*stream); }

TEST(HostDevice, SaysThatAThreadCannotBeStarted) {
  HostDevice device({.stack_bytes = int64_t{1} << 46});
  const absl::Status status = device.CreateStream("compute").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(std::string(status.message()).find("stream 'compute': cannot start its thread"), std::string::npos);
}

TEST(HostDevice, StackSizeIsForTheStreamsThread) {
  HostDevice device({.stack_bytes = 64 << 20});
  const std::unique_ptr<Stream> stream = *device.CreateStream("compute");
  const auto use_48_mib = [](void* sum) {
    volatile char stack[48 << 20];
    for (size_t i = 0; i < sizeof(stack); i += 4096) stack[i] = 1;
    *static_cast<int*>(sum) = stack[4096];
    return absl::OkStatus();
  };
  int sum = 0;
  ASSERT_TRUE(Host(stream).Enqueue({use_48_mib, &sum}).ok());
  EXPECT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(sum, 1);
}

TEST(HostDevice, KeepsThreadsOfRaisedStreamsOnItsCores) {
  const std::vector<int> all = AllowedCores();
  ASSERT_FALSE(all.empty());
  HostDevice device({.cores = {all.back()}});
  const auto cores_here = [](void* cores) {
    *static_cast<std::vector<int>*>(cores) = AllowedCores();
    return absl::OkStatus();
  };
  for (const StreamPriority priority : {StreamPriority::kRaised, StreamPriority::kHigh}) {
    const std::unique_ptr<Stream> stream = *device.CreateStream("compute", priority);
    std::vector<int> cores;
    ASSERT_TRUE(Host(stream).Enqueue({cores_here, &cores}).ok());
    EXPECT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(cores, priority == StreamPriority::kRaised ? std::vector<int>{all.back()} : all);
  }
}

// What the system says of the memory that an address lies in: short names, apart by spaces; empty: it does not say.
std::string FlagsOfMemoryAt(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool within = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    uint64_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      within = begin <= reinterpret_cast<uint64_t>(address) && reinterpret_cast<uint64_t>(address) < end;
    } else if (within && line.rfind("VmFlags:", 0) == 0) {
      return line.substr(8) + " ";
    }
  }
  return "";
}

TEST(HostDevice, AsksForLargePagesWhereAnArenaFillsThem) {
  HostDevice device;
  const std::unique_ptr<Arena> small = *device.Allocate(1 << 20), large = *device.Allocate((5 << 20) + 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large->data()) % (2 << 20), 0u);
  const auto* const last = static_cast<const char*>(large->data()) + large->bytes() - 1;
  EXPECT_EQ(*last, 0);
  const std::string flags = FlagsOfMemoryAt(large->data());
  if (flags.empty() || !std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system does not say";
  }
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  EXPECT_EQ(FlagsOfMemoryAt(small->data()).find(" hg "), std::string::npos);
  EXPECT_EQ(FlagsOfMemoryAt(last).find(" hg "), std::string::npos) << "a page that is not filled takes more memory";
}

TEST(Cores, AreSharedInEqualParts) {
  const std::vector<int> two = {3, 5}, three = {0, 1, 2}, four = {0, 2, 4, 6};
  const auto parts = [](const std::vector<int>& cores, int shares) {
    std::vector<std::vector<int>> all;
    for (int place = 0; place < shares; ++place) all.push_back(ShareOf(cores, place, shares));
    return all;
  };
  using Parts = std::vector<std::vector<int>>;
  EXPECT_EQ(parts(two, 4), (Parts{{3}, {3}, {5}, {5}}));
  EXPECT_EQ(parts(two, 3), (Parts{{3}, {3, 5}, {5}}));
  EXPECT_EQ(parts(three, 2), (Parts{{0, 1}, {1, 2}}));
  EXPECT_EQ(parts(four, 2), (Parts{{0, 2}, {4, 6}}));
  EXPECT_EQ(parts(four, 1), (Parts{four}));
}

TEST(HostDevice, RefusesWrongOptionsAndTasks) {
  HostDevice device({.threads = 0});
  EXPECT_EQ(device.CreateStream("compute").status().code(), absl::StatusCode::kInvalidArgument);
  HostDevice good;
  const std::unique_ptr<Stream> stream = *good.CreateStream("compute");
  EXPECT_EQ(Host(stream).Enqueue({nullptr, nullptr}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(HostDevice, TellsTheFirstFailureBeforeTheReplayEnds) {
  std::vector<std::string> told;
  HostDevice device({.on_failure = [&](const absl::Status& status) { told.emplace_back(status.message()); }});
  const std::unique_ptr<Stream> stream = *device.CreateStream("compute");
  Stream* const streams[] = {stream.get()};
  ASSERT_TRUE(device.BeginCapture(streams).ok());
  ASSERT_TRUE(Host(stream).Enqueue({[](void*) { return absl::InternalError("first"); }, nullptr}).ok());
  ASSERT_TRUE(Host(stream).Enqueue({[](void*) { return absl::InternalError("second"); }, nullptr}).ok());
  const std::unique_ptr<CapturedStep> step = *device.EndCapture();
  for (size_t replay = 1; replay <= 2; ++replay) {
    ASSERT_TRUE(step->Launch().ok());
    EXPECT_EQ(step->Wait(), absl::InternalError("first"));
    EXPECT_EQ(told, std::vector<std::string>(replay, "first"));
  }
}

#ifndef PARTITA_NO_OPENMP
TEST(HostDevice, TasksHaveTheThreadsAskedFor) {
  for (int threads : {1, 3}) {
    HostDevice device({.threads = threads});
    const std::unique_ptr<Stream> stream = *device.CreateStream("compute");
    int seen = 0;
    const auto ask = [](void* seen) {
      *static_cast<int*>(seen) = omp_get_max_threads();
      return absl::OkStatus();
    };
    ASSERT_TRUE(Host(stream).Enqueue({ask, &seen}).ok());
    ASSERT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(seen, threads);
  }
}
#endif

// Two streams hand a value over, with and without the wait. Atomic, so that what is missing is only the order.
class HandOver {
 public:
  HandOver(HostDeviceOptions options, bool with_wait) : device_(options) {
    std::unique_ptr<Event> event = *device_.CreateEvent();
    Stream* const streams[] = {producer_.get(), consumer_.get()};
    EXPECT_TRUE(device_.BeginCapture(streams).ok());
    EXPECT_TRUE(Host(producer_).Enqueue({Produce, this}).ok());
    EXPECT_TRUE(producer_->Record(*event).ok());
    if (with_wait) {
      EXPECT_TRUE(consumer_->Wait(*event).ok());
    }
    EXPECT_TRUE(Host(consumer_).Enqueue({Consume, this}).ok());
    step_ = *device_.EndCapture();
  }

  // In how many of `replays` the consumer saw an old value.
  int WrongResults(int replays) {
    int wrong = 0;
    for (int replay = 1; replay <= replays; ++replay) {
      EXPECT_TRUE(step_->Launch().ok());
      EXPECT_TRUE(step_->Wait().ok());
      wrong += seen_ != replay;
    }
    return wrong;
  }

 private:
  static absl::Status Produce(void* self) {
    ++static_cast<HandOver*>(self)->value_;
    return absl::OkStatus();
  }
  static absl::Status Consume(void* self) {
    auto* const hand_over = static_cast<HandOver*>(self);
    hand_over->seen_ = hand_over->value_.load();
    return absl::OkStatus();
  }

  std::atomic<int> value_{0};
  std::atomic<int> seen_{0};
  HostDevice device_;
  std::unique_ptr<Stream> producer_ = *device_.CreateStream("producer");
  std::unique_ptr<Stream> consumer_ = *device_.CreateStream("consumer");
  std::unique_ptr<CapturedStep> step_;
};

TEST(SeededDelay, ShowsAMissingWait) {
  const HostDeviceOptions delayed{.delay = {.seed = 1, .probability = 0.5}};
  EXPECT_GT(HandOver(delayed, false).WrongResults(100), 5);
  EXPECT_EQ(HandOver(delayed, true).WrongResults(100), 0);
  EXPECT_EQ(HandOver({}, true).WrongResults(1000), 0);
}

}  // namespace
}  // namespace partita
