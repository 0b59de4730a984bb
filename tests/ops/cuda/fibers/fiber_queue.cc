#include "tests/ops/cuda/fibers/fiber_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/ops/cuda/fibers/block.h"
#include "tests/ops/cuda/fibers/kernels.h"

namespace partita::fibers {
namespace {

// Of compute capability 7.0 and later.
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
constexpr int kMostThreads = 1024;

std::string Refusal(const Kernel* kernel, const LaunchShape& shape) {
  if (kernel == nullptr) return "a kernel whose address was not taken by PARTITA_KERNEL_ADDRESS";
  if (shape.blocks < 1 || shape.blocks > kMostBlocks) return fmt::format("a grid of {} blocks", shape.blocks);
  if (shape.lanes < 1 || shape.depth < 1 || shape.lanes * shape.depth > kMostThreads) {
    return fmt::format("a block of {} x {} threads", shape.lanes, shape.depth);
  }
  if (kernel->argument_bytes > kMostArgumentBytes) return fmt::format("{} bytes of arguments", kernel->argument_bytes);
  return "";
}

}  // namespace

std::string RunGrid(const LaunchShape& shape, const std::function<void()>& thread, Memory& memory,
                    std::mt19937_64& order) {
  std::vector<unsigned> blocks(static_cast<size_t>(shape.blocks));
  std::iota(blocks.begin(), blocks.end(), 0u);
  std::ranges::shuffle(blocks, order);
  const BlockShape of_blocks{static_cast<unsigned>(shape.lanes), static_cast<unsigned>(shape.depth),
                             static_cast<unsigned>(shape.blocks)};
  Block block(of_blocks, thread, memory, order);
  for (const unsigned index : blocks) {
    if (std::string failure = block.Run(index); !failure.empty()) return failure;
  }
  return "";
}

LaunchError FiberQueue::Launch(const void* function, const LaunchShape& shape, void** arguments) {
  ++launches_;
  Kernel* const kernel = FindKernel(function);
  std::string failure = Refusal(kernel, shape);
  if (failure.empty()) {
    const auto call = kernel->call;
    failure = RunGrid(
        shape, [=] { call(function, arguments); }, memory_, order_);
  }
  if (failure.empty()) {
    kernel->was_launched = true;
    return kLaunched;
  }
  if (failure_.empty()) failure_ = fmt::format("kernel {}: {}", kernel == nullptr ? "?" : kernel->name, failure);
  return LaunchError::kQueue;
}

// Byte by byte, for nothing is said of its alignment.
bool FiberQueue::Touch(const void* begin, int64_t bytes, bool store) {
  for (int64_t i = 0; i < bytes; ++i) {
    const Access access{static_cast<const char*>(begin) + i, 1, store};
    if (memory_.Touch(access)) continue;
    if (failure_.empty()) failure_ = "a copy or a zeroing " + memory_.Wrong(access);
    return false;
  }
  return true;
}

LaunchError FiberQueue::Copy(void* to, const void* from, int64_t bytes) {
  ++launches_;
  if (!Touch(from, bytes, false) || !Touch(to, bytes, true)) return LaunchError::kQueue;
  std::memmove(to, from, static_cast<size_t>(bytes));
  return kLaunched;
}

LaunchError FiberQueue::Zero(void* to, int64_t bytes) {
  ++launches_;
  if (!Touch(to, bytes, true)) return LaunchError::kQueue;
  std::memset(to, 0, static_cast<size_t>(bytes));
  return kLaunched;
}

}  // namespace partita::fibers
