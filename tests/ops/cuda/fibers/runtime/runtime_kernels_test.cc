// The kernels of the runtime on fibers: copies of boxes, reductions among ranks that share a GPU, the count of
// collectives. Any order of blocks and threads gives what the host computes, and nothing else is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "graph/value/dtype.h"
#include "graph/value/reduction.h"
#include "runtime/base/bf16.h"
#include "runtime/comm/cuda_local/reduce_kernel.h"
#include "runtime/comm/nccl/count_up_kernel.h"
#include "runtime/comm/reduction_functors.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"
#include "runtime/device/strided_copy.h"
#include "tests/ops/cuda/fibers/fiber_queue.h"

namespace partita::fibers {
namespace {

template <typename T>
std::string Launched(const void* kernel, const LaunchShape& shape, T& arguments, Memory& memory, uint64_t seed) {
  FiberQueue queue(seed, memory);
  void* pointers[] = {&arguments};
  queue.Launch(kernel, shape, pointers);
  return queue.failure();
}

std::vector<char> Bytes(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> bytes(static_cast<size_t>(count));
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// A box of two dense tensors: odd sizes, gaps on either side.
struct BoxCopy {
  StridedCopy copy;                        // without addresses
  int64_t from_offset = 0, to_offset = 0;  // bytes
  int64_t from_bytes = 0, to_bytes = 0;    // of the tensors

  StridedCopy Between(const std::vector<char>& from, std::vector<char>& to) const {
    StridedCopy placed = copy;
    placed.from = from.data() + from_offset;
    placed.to = to.data() + to_offset;
    return placed;
  }
};

BoxCopy RandomBox(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  const int64_t element = int64_t{1} << below(5);
  BoxCopy box;
  box.copy.Begin(nullptr, nullptr, element);
  box.from_bytes = box.to_bytes = element;
  for (int64_t d = below(5); d >= 0; --d) {
    const int64_t size = 1 + below(6);
    box.copy.Repeat(size, box.from_bytes, box.to_bytes);
    box.from_bytes *= size + below(2) * below(3);
    box.to_bytes *= size + below(2) * below(3);
  }
  box.from_bytes += box.from_offset = element * below(3);
  box.to_bytes += box.to_offset = element * below(3);
  return box;
}

std::string CopyOnFibers(const BoxCopy& box, const std::vector<char>& from, std::vector<char>& to, bool wide,
                         uint64_t seed) {
  StridedCopyArguments arguments, asked;
  EXPECT_TRUE(MakeStridedCopyArguments(box.Between(from, to), arguments));
  asked = arguments;
  if (wide) asked.accesses = int64_t{1} << 40;
  Memory memory;
  memory.Add("from", from.data(), box.from_bytes, false);
  memory.Add("to", to.data(), box.to_bytes, true);
  const int64_t blocks = seed % 2 == 0 ? arguments.blocks() : 1;
  const LaunchShape shape{blocks, static_cast<int>(StridedCopyArguments::kThreads), 1};
  return Launched(StridedCopyKernel(asked), shape, arguments, memory, seed);
}

// Each in another order; both widths of the index, and grids so small that threads go on.
TEST(StridedCopyOnFibers, CopiesBoxes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const BoxCopy box = RandomBox(seed);
    const std::vector<char> from = Bytes(box.from_bytes, seed), before = Bytes(box.to_bytes, seed + 1);
    std::vector<char> expected = before;
    RunStridedCopy(box.Between(from, expected));
    for (const bool wide : {false, true}) {
      std::vector<char> found = before;
      ASSERT_EQ(CopyOnFibers(box, from, found, wide, seed), "");
      EXPECT_EQ(found, expected);
    }
  }
}

template <typename T>
std::vector<T> Numbers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 100);
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<T>(normal(random)));
  return numbers;
}

template <typename T, typename Function>
std::vector<T> Reduced(const std::vector<std::vector<T>>& of_ranks) {
  std::vector<T> result = of_ranks[0];
  for (size_t rank = 1; rank < of_ranks.size(); ++rank) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = Function()(result[i], of_ranks[rank][i]);
  }
  return result;
}

// Of so many ranks, the first of which has its result where its input is; at addresses that are elements off.
template <typename T, typename Function>
void ReducesOnFibers(Reduction reduction, DType dtype, int ranks, int64_t count, uint64_t seed) {
  std::vector<std::vector<T>> in, out(static_cast<size_t>(ranks), Numbers<T>(count + 1, 77));
  for (int rank = 0; rank < ranks; ++rank) in.push_back(Numbers<T>(count, seed + static_cast<uint64_t>(rank)));
  const std::vector<T> expected = Reduced<T, Function>(in);
  std::copy(in[0].begin(), in[0].end(), out[0].begin() + 1);
  ReduceArguments arguments = {};
  Memory memory;
  for (size_t rank = 0; rank < in.size(); ++rank) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    T* const to = out[rank].data() + 1;
    memory.Add("out", to, bytes, true);
    if (rank > 0) memory.Add("in", in[rank].data(), bytes, false);
    arguments.in[arguments.inputs++] = rank == 0 ? to : in[rank].data();
    arguments.out[arguments.outputs++] = to;
  }
  arguments.count = count;
  const int64_t blocks = seed % 2 == 0 ? arguments.blocks() : 1;
  const LaunchShape shape{blocks, static_cast<int>(ReduceArguments::kThreads), 1};
  ASSERT_EQ(Launched(ReduceKernel(reduction, dtype), shape, arguments, memory, seed), "");
  for (const std::vector<T>& found : out) {
    EXPECT_EQ(std::memcmp(&found[1], expected.data(), expected.size() * sizeof(T)), 0) << Name(dtype) << " " << ranks;
  }
}

template <typename T>
void BothReductions(DType dtype) {
  uint64_t seed = 0;
  for (const int ranks : {1, 2, 3, ReduceArguments::kMostRanks}) {
    for (const int64_t count : {1, 7, 255, 256, 257, 1000}) {
      ReducesOnFibers<T, ReduceAdd>(Reduction::kSum, dtype, ranks, count, ++seed);
      ReducesOnFibers<T, ReduceMax>(Reduction::kMax, dtype, ranks, count, ++seed);
    }
  }
}

TEST(ReductionOnFibers, IsTheHosts) {
  BothReductions<float>(DType::kF32);
  BothReductions<Bf16>(DType::kBF16);
  BothReductions<int32_t>(DType::kI32);
  BothReductions<double>(DType::kF64);
  EXPECT_EQ(ReduceKernel(Reduction::kSum, DType::kU8), nullptr);
}

TEST(CountUpOnFibers, CountsAndShowsTheCount) {
  unsigned long long count = 41, seen = 0, next_count = 6, next_seen = 0;
  unsigned long long *count_at = &count, *seen_at = &seen, *next_count_at = nullptr, *next_seen_at = nullptr;
  Memory memory;
  memory.Add("count", &count, sizeof count, true);
  memory.Add("seen", &seen, sizeof seen, true);
  memory.Add("next count", &next_count, sizeof next_count, true);
  memory.Add("next seen", &next_seen, sizeof next_seen, true);
  void* arguments[] = {&count_at, &seen_at, &next_count_at, &next_seen_at};
  for (unsigned long long expected = 42; expected < 45; ++expected) {
    FiberQueue queue(expected, memory);
    queue.Launch(CountUpKernel(), {1, 1, 1}, arguments);
    ASSERT_EQ(queue.failure(), "");
    EXPECT_EQ(count, expected);
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(next_seen, expected == 44 ? 7 : 0) << "the second count is there in the last launch only";
    if (expected == 43) {
      next_count_at = &next_count;
      next_seen_at = &next_seen;
    }
  }
  EXPECT_EQ(memory.range("seen").loaded, 0) << "a round trip over the bus";
  EXPECT_EQ(memory.range("next seen").loaded, 0);
}

}  // namespace
}  // namespace partita::fibers
