// Transfers through two small pinned buffers over a fake CUDA, which does nothing sooner than it is waited for: sizes
// around the buffers' borders, the bytes that are pinned, every call failing once.
#include "runtime/api/rank/host_transfer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/device/cuda/cuda_device.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

constexpr int64_t kBuffer = 256;

// Of allocations of pinned memory, since the test began.
int64_t pinned_bytes = 0;
cudaError_t (*allocate_pinned)(void**, size_t, unsigned) = nullptr;

cudaError_t CountPinned(void** memory, size_t bytes, unsigned flags) {
  pinned_bytes += static_cast<int64_t>(bytes);
  return allocate_pinned(memory, bytes, flags);
}

class HostTransferTest : public testing::Test {
 protected:
  HostTransferTest() {
    pinned_bytes = 0;
    allocate_pinned = fake_.api().cudaHostAlloc;
    api_ = fake_.api();
    api_.cudaHostAlloc = CountPinned;
    fake_.at_once = false;
    device_ = *CudaDevice::Create({0, false, &api_});
    stream_ = *device_->CreateStream("transfers");
  }

  std::unique_ptr<HostTransfer> Create(int64_t most_bytes) {
    return *HostTransfer::Create(*device_, *stream_, most_bytes, kBuffer);
  }

  static std::vector<char> Numbers(int64_t bytes, int first) {
    std::vector<char> numbers(static_cast<size_t>(bytes));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<char>((i + i / 251 + first) % 251);
    return numbers;
  }

  FakeCuda fake_;
  CudaApi api_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(HostTransferTest, MovesSizesAroundTheBuffers) {
  const auto transfer = Create(1 << 20);
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, kBuffer - 1, kBuffer, kBuffer + 1, 2 * kBuffer - 1, 2 * kBuffer,
                              2 * kBuffer + 1, 3 * kBuffer, 7 * kBuffer + 13}) {
    SCOPED_TRACE(bytes);
    const std::unique_ptr<Arena> arena = *device_->Allocate(bytes + 128);
    char* const place = static_cast<char*>(arena->data()) + 64;
    const std::vector<char> sent = Numbers(bytes, 3);
    ASSERT_TRUE(transfer->Send(place, sent.data(), bytes).ok());
    std::vector<char> fetched(sent.size() + 2, 'x');
    ASSERT_TRUE(transfer->Fetch(fetched.data() + 1, place, bytes).ok());
    EXPECT_EQ(std::memcmp(fetched.data() + 1, sent.data(), sent.size()), 0);
    EXPECT_EQ(fetched.front(), 'x');
    EXPECT_EQ(fetched.back(), 'x');
    std::vector<char> around(64, 'x');
    for (const int64_t offset : {int64_t{0}, 64 + bytes}) {
      ASSERT_TRUE(transfer->Fetch(around.data(), static_cast<char*>(arena->data()) + offset, 64).ok());
      EXPECT_EQ(around, std::vector<char>(64, 0)) << "beside what was sent";
    }
  }
}

TEST_F(HostTransferTest, FillsEachByteOnceInOrder) {
  const auto transfer = Create(1 << 20);
  const int64_t bytes = 5 * kBuffer + 2;
  const std::unique_ptr<Arena> arena = *device_->Allocate(bytes);
  const std::vector<char> numbers = Numbers(bytes, 9);
  int64_t end = 0;
  const auto fill = [&](char* to, int64_t begin, int64_t count) {
    EXPECT_EQ(begin, end);
    EXPECT_LE(count, kBuffer);
    end = begin + count;
    std::memcpy(to, numbers.data() + begin, static_cast<size_t>(count));
  };
  ASSERT_TRUE(transfer->Send(arena->data(), bytes, fill).ok());
  EXPECT_EQ(end, bytes);
  std::vector<char> fetched(numbers.size());
  ASSERT_TRUE(transfer->Fetch(fetched.data(), arena->data(), bytes).ok());
  EXPECT_EQ(fetched, numbers);
}

// Two buffers, however much is moved; smaller ones where that is enough.
TEST_F(HostTransferTest, PinsNoMoreThanTwoBuffers) {
  for (const auto& [most, expected] : std::vector<std::pair<int64_t, int64_t>>{
           {int64_t{1} << 40, 2 * kBuffer}, {kBuffer, 2 * kBuffer}, {100, 2 * 128}, {0, 2 * 64}}) {
    pinned_bytes = 0;
    const auto transfer = Create(most);
    EXPECT_GE(pinned_bytes, expected);
    EXPECT_LE(pinned_bytes, expected + 64) << most;
  }
  EXPECT_LE(2 * HostTransfer::kBufferBytes, int64_t{128} << 20);
}

// Each call of CUDA fails once, in the middle as well: a Status, and the next transfer is whole.
TEST_F(HostTransferTest, AFailedCallIsAStatus) {
  const auto transfer = Create(1 << 20);
  const int64_t bytes = 4 * kBuffer + 5;
  const std::unique_ptr<Arena> arena = *device_->Allocate(bytes);
  const std::vector<char> first = Numbers(bytes, 1), second = Numbers(bytes, 2);
  std::vector<char> fetched(first.size());
  for (const bool fetches : {false, true}) {
    int failed = 0;
    for (int64_t call = 1;; ++call) {
      fake_.FailAt(call, cudaErrorInvalidValue);
      const absl::Status status = fetches ? transfer->Fetch(fetched.data(), arena->data(), bytes)
                                          : transfer->Send(arena->data(), first.data(), bytes);
      if (!fake_.failed()) break;
      fake_.FailAt(0, cudaSuccess);
      ++failed;
      EXPECT_FALSE(status.ok()) << "call " << call;
      ASSERT_TRUE(transfer->Send(arena->data(), second.data(), bytes).ok()) << "behind call " << call;
      ASSERT_TRUE(transfer->Fetch(fetched.data(), arena->data(), bytes).ok()) << "behind call " << call;
      EXPECT_EQ(fetched, second) << "behind call " << call;
    }
    fake_.FailAt(0, cudaSuccess);
    EXPECT_GT(failed, 10);
  }
}

}  // namespace
}  // namespace partita
