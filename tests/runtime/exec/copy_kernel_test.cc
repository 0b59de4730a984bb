#include "runtime/exec/copy_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

// Element by element, by the definition of a box.
void NaiveCopy(const BoxCopy& copy, std::vector<char>& arena) {
  const int64_t count = Elements(copy.size);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0, to = 0, from_stride = 1, to_stride = 1;
    for (size_t d = copy.size.size(); d-- > 0;) {
      const int64_t index = rest % copy.size[d];
      rest /= copy.size[d];
      from += (copy.from_start[d] + index) * from_stride;
      to += (copy.to_start[d] + index) * to_stride;
      from_stride *= copy.from_shape[d];
      to_stride *= copy.to_shape[d];
    }
    std::memcpy(&arena[copy.to + to * copy.element_bytes], &arena[copy.from + from * copy.element_bytes],
                copy.element_bytes);
  }
}

BoxCopy RandomCopy(std::mt19937& random) {
  const auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  BoxCopy copy;
  copy.element_bytes = std::vector<int64_t>{1, 4, 8}[pick(0, 2)];
  const int64_t rank = pick(0, 5);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = pick(0, 9) == 0 ? 0 : pick(1, 4);
    // Half of the dimensions are whole in one of the tensors, so that runs are joined.
    const int64_t from_more = pick(0, 1) * pick(0, 2), to_more = pick(0, 1) * pick(0, 2);
    copy.size.push_back(size);
    copy.from_shape.push_back(size + from_more);
    copy.to_shape.push_back(size + to_more);
    copy.from_start.push_back(pick(0, from_more));
    copy.to_start.push_back(pick(0, to_more));
  }
  copy.from = 0;
  copy.to = Elements(copy.from_shape) * copy.element_bytes;
  return copy;
}

TEST(CopyKernel, CopiesEveryBoxAsItsDefinitionSays) {
  HostDevice device;
  const auto stream = *device.CreateStream("copies");
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    CopyLaunch launch;
    launch.copies = {RandomCopy(random)};
    const BoxCopy& copy = launch.copies[0];
    const int64_t bytes = copy.to + Elements(copy.to_shape) * copy.element_bytes;
    if (round % 3 == 0) launch.zero = {copy.to, bytes - copy.to};
    std::vector<char> arena(static_cast<size_t>(bytes) + 16);
    for (char& byte : arena) byte = static_cast<char>(random());
    std::vector<char> expected = arena;
    std::memset(expected.data() + launch.zero.offset, 0, static_cast<size_t>(launch.zero.bytes));
    NaiveCopy(copy, expected);
    CopyKernel kernel(launch, arena.data());
    ASSERT_TRUE(kernel.Launch(*stream).ok());
    ASSERT_TRUE(stream->Synchronize().ok());
    ASSERT_EQ(arena, expected) << "round " << round;
  }
}

TEST(CopyKernel, SeveralBoxesFollowEachOther) {
  HostDevice device;
  const auto stream = *device.CreateStream("copies");
  // Two columns of a 2 x 2 matrix into two vectors, which were cleared before: 4 floats each, one more than is copied.
  CopyLaunch launch;
  launch.zero = {16, 24};
  for (int64_t column = 0; column < 2; ++column) {
    launch.copies.push_back({4, 0, 16 + column * 12, {2, 2}, {3, 1}, {0, column}, {0, 0}, {2, 1}});
  }
  float arena[10] = {1, 2, 3, 4, 9, 9, 9, 9, 9, 9};
  CopyKernel kernel(launch, arena);
  ASSERT_TRUE(kernel.Launch(*stream).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  const float expected[10] = {1, 2, 3, 4, 1, 3, 0, 2, 4, 0};
  EXPECT_EQ(std::memcmp(arena, expected, sizeof(arena)), 0);
}

TEST(CopyKernel, WholeRowsAreOneRun) {
  const BoxCopy rows{4, 0, 0, {8, 3, 5}, {6, 3, 5}, {2, 0, 0}, {0, 0, 0}, {4, 3, 5}};
  const StridedCopy copy = MakeStridedCopy(rows, nullptr, nullptr);
  EXPECT_TRUE(copy.dimensions.empty());
  EXPECT_EQ(copy.run_bytes, 4 * 3 * 5 * 4);
}

}  // namespace
}  // namespace partita
