// Arenas that others can map: who opens one sees what is written, and cannot change its size.
#include "runtime/device/host/shared_arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

constexpr int64_t kBytes = 1 << 20;

TEST(SharedArena, AnotherOneReadsWhatIsWritten) {
  const std::unique_ptr<Arena> arena = AllocateSharedArena(kBytes);
  ASSERT_NE(arena, nullptr);
  auto* const bytes = static_cast<char*>(arena->data());
  EXPECT_EQ(bytes[kBytes - 1], 0);
  bytes[700'000] = 7;
  const SharedPlace place = FindSharedPlace(bytes + 700'000);
  EXPECT_EQ(place.offset, 700'000);
  const int file = open(fmt::format("/proc/self/fd/{}", place.descriptor).c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  char read = 0;
  EXPECT_EQ(pread(file, &read, 1, place.offset), 1);
  EXPECT_EQ(read, 7);
  close(file);
  EXPECT_NE(ftruncate(static_cast<int>(place.descriptor), kBytes / 2), 0);
}

TEST(SharedArena, PlacesAreFoundAndTellArenasApart) {
  const int here = 0;
  EXPECT_LT(FindSharedPlace(&here).descriptor, 0);
  EXPECT_LT(FindSharedPlace(nullptr).descriptor, 0);
  std::unique_ptr<Arena> arena = AllocateSharedArena(kBytes);
  const auto* const bytes = static_cast<const char*>(arena->data());
  const SharedPlace first = FindSharedPlace(bytes), last = FindSharedPlace(bytes + kBytes - 1);
  EXPECT_EQ(first.arena, last.arena);
  EXPECT_EQ(last.offset, kBytes - 1);
  arena.reset();
  EXPECT_LT(FindSharedPlace(bytes).descriptor, 0);
  arena = AllocateSharedArena(kBytes);
  EXPECT_GT(FindSharedPlace(arena->data()).arena, first.arena);
}

TEST(SharedArena, OnlyWhatIsLargeIsShared) {
  HostDevice plain, shares({.shares_arenas = true});
  const auto is_shared = [](HostDevice& device, int64_t bytes) {
    return FindSharedPlace((*device.Allocate(bytes))->data()).descriptor >= 0;
  };
  EXPECT_FALSE(is_shared(plain, kBytes));
  EXPECT_FALSE(is_shared(shares, 1000));
  EXPECT_TRUE(is_shared(shares, kBytes));
}

// Else the system would end the process by a signal.
TEST(SharedArena, IsNoneWhereNoFileMayBeSoLarge) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {kBytes / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(AllocateSharedArena(kBytes), nullptr);
  HostDevice shares({.shares_arenas = true});
  EXPECT_TRUE(shares.Allocate(kBytes).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(AllocateSharedArena(kBytes), nullptr);
}

}  // namespace
}  // namespace partita
