#include "runtime/device/host/kernel_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <thread>

#ifndef PARTITA_NO_OPENMP
#include <omp.h>
#endif

namespace partita {
namespace {

std::atomic<int> left_to_start;

// What the system does when a limit of processes is reached.
int StartWhileAny(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  return left_to_start.fetch_sub(1) > 0 ? pthread_create(thread, attributes, run, argument) : EAGAIN;
}

TEST(KernelTeam, TriesAsManyThreadsAsAreAskedFor) {
  left_to_start = 5;
  EXPECT_TRUE(TryThreads(5, StartWhileAny).ok());
  left_to_start = 4;
  const absl::Status status = TryThreads(5, StartWhileAny);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()).find("cannot start thread 5 of 5 for kernels"), 0) << status;
  EXPECT_TRUE(TryThreads(0, StartWhileAny).ok());
}

#ifndef PARTITA_NO_OPENMP

// Members of a region of the calling thread.
std::set<int> Members() {
  std::set<int> members;
#pragma omp parallel
  {
#pragma omp critical
    members.insert(omp_get_thread_num());
  }
  return members;
}

TEST(KernelTeam, HasAllThreadsWhateverTheVariablesOfOpenMpSay) {
  std::thread([] {
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
    omp_set_num_threads(4);
    EXPECT_EQ(Members().size(), 1) << "the test cannot fail";
    ASSERT_TRUE(StartKernelTeam().ok());
    EXPECT_EQ(Members(), (std::set<int>{0, 1, 2, 3}));
    omp_set_num_threads(2);
    ASSERT_TRUE(StartKernelTeam().ok());
    EXPECT_EQ(Members(), (std::set<int>{0, 1}));
    omp_set_num_threads(6);
    ASSERT_TRUE(StartKernelTeam().ok());
    EXPECT_EQ(Members().size(), 6);
  }).join();
}

TEST(KernelTeam, OfOneThreadNeedsNothing) {
  std::thread([] {
    omp_set_num_threads(1);
    EXPECT_TRUE(StartKernelTeam().ok());
    EXPECT_EQ(Members(), std::set<int>{0});
  }).join();
}

TEST(KernelTeam, InsideARegionIsRefused) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(1);
  absl::Status status;
#pragma omp parallel num_threads(2)
  {
#pragma omp master
    {
      omp_set_num_threads(2);
      status = StartKernelTeam();
    }
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

#endif

}  // namespace
}  // namespace partita
