// Streams, events and memory outside of captures.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/conformance/cuda_backend.h"
#include "tests/conformance/device_fixture.h"

namespace partita {
namespace {

class StreamTest : public DeviceTest {};

TEST_P(StreamTest, MemoryIsAlignedAndZero) {
  for (int64_t bytes : {0, 1, 64, 1000, 1 << 20}) {
    const std::unique_ptr<Arena> arena = *device_->Allocate(bytes);
    EXPECT_EQ(arena->bytes(), bytes);
    ASSERT_NE(arena->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % 64, 0u);
    std::vector<char> content(bytes, 1);
    GetParam()->Download(content.data(), arena->data(), bytes);
    EXPECT_EQ(std::ranges::count(content, 0), bytes);
    std::ranges::fill(content, 5);
    GetParam()->Upload(arena->data(), content.data(), bytes);  // the next arena is zero all the same
  }
}

TEST_P(StreamTest, MemoryThatIsNotThere) {
  EXPECT_EQ(device_->Allocate(-1).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status huge = device_->Allocate(int64_t{1} << 60).status();
  EXPECT_EQ(huge.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(huge.message()).find("1152921504606846976 bytes"), std::string::npos) << huge;
}

TEST_P(StreamTest, WorkRunsInOrder) {
  const std::unique_ptr<Stream> stream = NewStream("compute");
  EXPECT_EQ(stream->name(), "compute");
  std::vector<int> seen;
  for (int i = 0; i < 1000; ++i) ASSERT_OK(Run(*stream, [&seen, i] { seen.push_back(i); }));
  ASSERT_OK(stream->Synchronize());
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST_P(StreamTest, EnqueueReturnsBeforeTheWorkHasRun) {
  const std::unique_ptr<Stream> stream = NewStream("compute");
  const std::unique_ptr<Event> event = NewEvent();
  std::atomic<bool> go{false};
  ASSERT_OK(Run(*stream, [&go] { go.wait(false); }));
  ASSERT_OK(stream->Record(*event));
  EXPECT_FALSE(event->Reached());
  go = true;
  go.notify_all();
  ASSERT_OK(event->Synchronize());
  EXPECT_TRUE(event->Reached());
}

TEST_P(StreamTest, CopyAndZeroKeepTheOrder) {
  const std::unique_ptr<Stream> stream = NewStream("copy");
  const std::unique_ptr<Arena> arena = *device_->Allocate(300);
  char* const a = static_cast<char*>(arena->data());
  std::vector<char> content(100);
  std::iota(content.begin(), content.end(), 1);
  GetParam()->Upload(a, content.data(), 100);
  ASSERT_OK(stream->Copy(a + 100, a, 100));
  ASSERT_OK(stream->Zero(a, 50));
  ASSERT_OK(stream->Copy(a + 200, a, 100));
  ASSERT_OK(stream->Copy(nullptr, nullptr, 0));
  ASSERT_OK(stream->Zero(nullptr, 0));
  ASSERT_OK(stream->Synchronize());
  std::vector<char> result(300);
  GetParam()->Download(result.data(), a, 300);
  std::vector<char> zeroed = content;
  std::fill_n(zeroed.begin(), 50, 0);
  EXPECT_EQ(std::vector(result.begin() + 100, result.begin() + 200), content);
  EXPECT_EQ(std::vector(result.begin() + 200, result.end()), zeroed);
}

TEST_P(StreamTest, RefusesBuffersThatCannotBe) {
  const std::unique_ptr<Stream> stream = NewStream("copy");
  char byte = 0;
  EXPECT_EQ(stream->Copy(&byte, &byte, -1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream->Copy(nullptr, &byte, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream->Zero(nullptr, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream->Zero(&byte, -1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_OK(stream->Synchronize());
}

TEST_P(StreamTest, AWaitOrdersTwoStreams) {
  const std::unique_ptr<Stream> producer = NewStream("producer"), consumer = NewStream("consumer");
  const std::unique_ptr<Event> event = NewEvent();
  int value = 0, seen = -1;
  ASSERT_OK(Sleep(*producer));
  ASSERT_OK(Run(*producer, [&] { value = 42; }));
  ASSERT_OK(producer->Record(*event));
  ASSERT_OK(consumer->Wait(*event));
  ASSERT_OK(Run(*consumer, [&] { seen = value; }));
  ASSERT_OK(consumer->Synchronize());
  EXPECT_EQ(seen, 42);
}

TEST_P(StreamTest, AWaitMeansTheRecordBeforeIt) {
  const std::unique_ptr<Stream> a = NewStream("a"), b = NewStream("b"), c = NewStream("c");
  const std::unique_ptr<Event> event = NewEvent();
  int value = 0, seen = -1;
  ASSERT_OK(Sleep(*a));
  ASSERT_OK(Run(*a, [&] { value = 1; }));
  ASSERT_OK(a->Record(*event));
  ASSERT_OK(c->Wait(*event));
  ASSERT_OK(Run(*c, [&] { seen = value; }));
  // The later record is reached long after c has gone on.
  ASSERT_OK(GetParam()->Delay(*b, 100 * kSlow));
  ASSERT_OK(b->Record(*event));
  ASSERT_OK(c->Synchronize());
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(event->Reached());  // stands for the record on b now
  ASSERT_OK(event->Synchronize());
  EXPECT_TRUE(event->Reached());
}

TEST_P(StreamTest, AnEventThatWasNeverRecordedIsReached) {
  const std::unique_ptr<Stream> stream = NewStream("compute");
  const std::unique_ptr<Event> event = NewEvent();
  EXPECT_TRUE(event->Reached());
  EXPECT_OK(event->Synchronize());
  EXPECT_OK(stream->Wait(*event));
  EXPECT_OK(stream->Synchronize());
}

TEST_P(StreamTest, AnEventMayGoBeforeTheWorkThatUsesIt) {
  const std::unique_ptr<Stream> a = NewStream("a"), b = NewStream("b");
  int value = 0, seen = -1;
  {
    const std::unique_ptr<Event> event = NewEvent();
    ASSERT_OK(Sleep(*a));
    ASSERT_OK(Run(*a, [&] { value = 3; }));
    ASSERT_OK(a->Record(*event));
    ASSERT_OK(b->Wait(*event));
  }
  ASSERT_OK(Run(*b, [&] { seen = value; }));
  ASSERT_OK(b->Synchronize());
  EXPECT_EQ(seen, 3);
}

TEST_P(StreamTest, AFailureSkipsWhatFollowsUntilItIsReported) {
  if (!GetParam()->reports_failed_work()) GTEST_SKIP() << "host functions of this runtime cannot fail";
  const std::unique_ptr<Stream> a = NewStream("a"), b = NewStream("b");
  const std::unique_ptr<Event> event = NewEvent();
  int ran = 0;
  ASSERT_OK(Run(*a, [&] { ++ran; }));
  ASSERT_OK(Enqueue(*a, [] { return absl::OutOfRangeError("first"); }));
  ASSERT_OK(Enqueue(*a, [] { return absl::OutOfRangeError("second"); }));
  ASSERT_OK(Run(*a, [&] { ++ran; }));
  ASSERT_OK(a->Record(*event));
  ASSERT_OK(b->Wait(*event));  // does not hang
  EXPECT_OK(b->Synchronize());
  EXPECT_EQ(a->Synchronize(), absl::OutOfRangeError("first"));
  EXPECT_EQ(ran, 1);
  ASSERT_OK(Run(*a, [&] { ++ran; }));
  EXPECT_OK(a->Synchronize());
  EXPECT_EQ(ran, 2);
}

TEST_P(StreamTest, DestructionWaitsForTheWork) {
  int ran = 0;
  {
    const std::unique_ptr<Stream> stream = NewStream("compute");
    ASSERT_OK(Sleep(*stream));
    ASSERT_OK(Run(*stream, [&] { ++ran; }));
  }
  EXPECT_EQ(ran, 1);
}

// So that a run says whether the suite met a GPU.
TEST(Gpu, TakesPart) {
  if (!WhyNoGpu().empty()) GTEST_SKIP() << WhyNoGpu();
  EXPECT_FALSE(CudaDeviceBackends().empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, StreamTest, testing::ValuesIn(DeviceBackends()), BackendName);
INSTANTIATE_TEST_SUITE_P(Fakes, StreamTest, testing::ValuesIn(FakeCudaDeviceBackends()), BackendName);

}  // namespace
}  // namespace partita
