// Work that is captured once and replayed many times.
#include <atomic>

#include "runtime/device/span_recorder.h"
#include "tests/conformance/device_fixture.h"

namespace partita {
namespace {

class CapturedStepTest : public DeviceTest {
 protected:
  const std::unique_ptr<Stream> a_ = NewStream("a"), b_ = NewStream("b");
  const std::unique_ptr<Event> event_ = NewEvent(), back_ = NewEvent();
};

TEST_P(CapturedStepTest, RunsOncePerReplayAndNotBefore) {
  int ran = 0;
  const auto step = Capture({a_.get()}, [&] { EXPECT_OK(Run(*a_, [&] { ++ran; })); });
  EXPECT_OK(a_->Synchronize());
  EXPECT_EQ(ran, 0);
  for (int replay = 1; replay <= 100; ++replay) {
    ASSERT_OK(step->Launch());
    ASSERT_OK(step->Wait());
    EXPECT_EQ(ran, replay);
  }
}

// a: x = x + 1     b: (after a) y = y + x     a: (after b) x = y     thousands of times: any lost or early wait shows.
TEST_P(CapturedStepTest, EventsOrderEveryReplay) {
  int64_t x = 0, y = 0;
  const auto step = Capture({a_.get(), b_.get()}, [&] {
    EXPECT_OK(Run(*a_, [&] { x = x + 1; }));
    EXPECT_OK(a_->Record(*event_));
    EXPECT_OK(b_->Wait(*event_));
    EXPECT_OK(Run(*b_, [&] { y = (y + x) % 1000003; }));
    EXPECT_OK(b_->Record(*back_));
    EXPECT_OK(a_->Wait(*back_));
    EXPECT_OK(Run(*a_, [&] { x = y; }));
  });
  int64_t expected_x = 0, expected_y = 0;
  for (int replay = 0; replay < 2000; ++replay) {
    ASSERT_OK(step->Launch());
    ASSERT_OK(step->Wait());
    expected_y = (expected_y + expected_x + 1) % 1000003;
    expected_x = expected_y;
    ASSERT_EQ(x, expected_x) << "replay " << replay;
  }
}

TEST_P(CapturedStepTest, OneEventMayBeRecordedSeveralTimes) {
  std::vector<int> order;
  const auto step = Capture({a_.get(), b_.get()}, [&] {
    for (int i = 0; i < 10; ++i) {
      Stream& stream = i % 2 == 0 ? *a_ : *b_;
      if (i > 0) {
        EXPECT_OK(stream.Wait(*event_));
      }
      EXPECT_OK(Run(stream, [&order, i] { order.push_back(i); }));
      EXPECT_OK(stream.Record(*event_));
    }
  });
  for (int replay = 0; replay < 50; ++replay) {
    order.clear();
    ASSERT_OK(step->Launch());
    ASSERT_OK(step->Wait());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST_P(CapturedStepTest, CopiesAndZerosAreReplayed) {
  const std::unique_ptr<Arena> arena = *device_->Allocate(8);
  int32_t* const cells = static_cast<int32_t*>(arena->data());
  const auto step = Capture({a_.get()}, [&] {
    EXPECT_OK(a_->Copy(cells + 1, cells, 4));
    EXPECT_OK(a_->Zero(cells, 4));
  });
  for (int32_t replay = 1; replay < 20; ++replay) {
    GetParam()->Upload(cells, &replay, 4);
    ASSERT_OK(step->Launch());
    ASSERT_OK(step->Wait());
    int32_t result[2];
    GetParam()->Download(result, cells, 8);
    EXPECT_EQ(result[0], 0);
    EXPECT_EQ(result[1], replay);
  }
}

TEST_P(CapturedStepTest, AReplayRunsBehindTheWorkBefore) {
  std::vector<int> order;
  const auto step = Capture({a_.get()}, [&] { EXPECT_OK(Run(*a_, [&] { order.push_back(2); })); });
  ASSERT_OK(Sleep(*a_));
  ASSERT_OK(Run(*a_, [&] { order.push_back(1); }));
  ASSERT_OK(step->Launch());
  ASSERT_OK(Run(*a_, [&] { order.push_back(3); }));
  ASSERT_OK(a_->Synchronize());
  ASSERT_OK(step->Wait());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_P(CapturedStepTest, TwoStepsShareStreams) {
  int train = 0, evaluate = 0;
  const auto first = Capture({a_.get(), b_.get()}, [&] { EXPECT_OK(Run(*a_, [&] { ++train; })); });
  const auto second = Capture({b_.get(), a_.get()}, [&] { EXPECT_OK(Run(*a_, [&] { ++evaluate; })); });
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(first->Launch());
    ASSERT_OK(second->Launch());
    ASSERT_OK(first->Wait());
    ASSERT_OK(second->Wait());
  }
  EXPECT_EQ(train, 10);
  EXPECT_EQ(evaluate, 10);
}

TEST_P(CapturedStepTest, AStepWithoutWorkEnds) {
  const auto step = Capture({a_.get()}, [] {});
  EXPECT_OK(step->Wait());
  EXPECT_OK(step->Launch());
  EXPECT_OK(step->Wait());
}

// a fails; b waits for a's event and for a second one behind it: nothing hangs, nothing behind runs, the next is whole.
TEST_P(CapturedStepTest, AFailureSkipsTheRestOfAllStreamsOnce) {
  if (!GetParam()->reports_failed_work()) GTEST_SKIP() << "host functions of this runtime cannot fail";
  bool fail = true;
  int on_a = 0, on_b = 0;
  const auto step = Capture({a_.get(), b_.get()}, [&] {
    EXPECT_OK(Enqueue(*a_, [&] { return fail ? absl::OutOfRangeError("not finite") : absl::OkStatus(); }));
    EXPECT_OK(Enqueue(*a_, [&] { return fail ? absl::InternalError("not run") : absl::OkStatus(); }));
    EXPECT_OK(Run(*a_, [&] { ++on_a; }));
    EXPECT_OK(a_->Record(*event_));
    EXPECT_OK(b_->Wait(*event_));
    EXPECT_OK(Run(*b_, [&] { ++on_b; }));
    EXPECT_OK(b_->Record(*back_));
    EXPECT_OK(a_->Wait(*back_));
  });
  for (int replay = 0; replay < 20; ++replay) {
    fail = true;
    ASSERT_OK(step->Launch());
    EXPECT_EQ(step->Wait(), absl::OutOfRangeError("not finite"));
    EXPECT_EQ(on_a, replay);
    EXPECT_EQ(on_b, replay);
    fail = false;
    ASSERT_OK(step->Launch());
    EXPECT_OK(step->Wait());
    EXPECT_EQ(on_b, replay + 1);
  }
  EXPECT_OK(a_->Synchronize());  // errors of replays are the step's
}

TEST_P(CapturedStepTest, OneReplayAtATime) {
  std::atomic<bool> go{false};
  const auto step = Capture({a_.get()}, [&] { EXPECT_OK(Run(*a_, [&go] { go.wait(false); })); });
  ASSERT_OK(step->Launch());
  EXPECT_EQ(step->Launch().code(), absl::StatusCode::kFailedPrecondition);
  go = true;
  go.notify_all();
  EXPECT_OK(step->Wait());
  EXPECT_OK(step->Launch());
  EXPECT_OK(step->Wait());
}

TEST_P(CapturedStepTest, DestructionWaitsForTheReplay) {
  int ran = 0;
  {
    const auto step = Capture({a_.get()}, [&] {
      EXPECT_OK(Sleep(*a_));
      EXPECT_OK(Run(*a_, [&] { ++ran; }));
    });
    ASSERT_OK(step->Launch());
  }
  EXPECT_EQ(ran, 1);
}

TEST_P(CapturedStepTest, RefusesWhatCannotBeCaptured) {
  const std::unique_ptr<Device> other = GetParam()->CreateDevice();
  const std::unique_ptr<Stream> foreign = *other->CreateStream("foreign");
  const auto begin = [&](std::vector<Stream*> streams) { return device_->BeginCapture(streams).code(); };
  EXPECT_EQ(begin({foreign.get()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(begin({a_.get(), a_.get()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(begin({nullptr}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->EndCapture().status().code(), absl::StatusCode::kFailedPrecondition);

  const auto step = Capture({a_.get()}, [&] {
    EXPECT_EQ(begin({b_.get()}), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(a_->Synchronize().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(a_->Wait(*event_).code(), absl::StatusCode::kInvalidArgument);  // not recorded here
    EXPECT_OK(b_->Record(*back_));                                            // b is not captured
    EXPECT_EQ(a_->Wait(*back_).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_OK(a_->Record(*event_));
    EXPECT_EQ(b_->Wait(*event_).code(), absl::StatusCode::kInvalidArgument);
  });
  EXPECT_EQ(b_->Wait(*event_).code(), absl::StatusCode::kInvalidArgument);  // its latest record is a captured one
  EXPECT_OK(b_->Record(*event_));
  EXPECT_OK(a_->Wait(*event_));
  EXPECT_OK(a_->Synchronize());
}

TEST_P(CapturedStepTest, ALaunchOfTheTimelineHasOneStream) {
  ASSERT_OK(device_->BeginCapture(std::vector<Stream*>{a_.get(), b_.get()}));
  for (Stream* stream : {a_.get(), b_.get()}) {
    stream->Tag(3);
    EXPECT_OK(Run(*stream, [] {}));
  }
  const absl::Status status = device_->EndCapture().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("tag 3"), std::string::npos) << status;
  EXPECT_OK(Run(*a_, [] {}));  // the streams are free again
  EXPECT_OK(a_->Synchronize());
}

// Tags 0 (a), 1 (b, after 0), 3 (a, two tasks); 2 has no task. Waiting for an event is not part of a span.
TEST_P(CapturedStepTest, RecordsSpans) {
  const auto step = Capture({a_.get(), b_.get()}, [&] {
    a_->Tag(0);
    EXPECT_OK(Sleep(*a_));
    EXPECT_OK(a_->Record(*event_));
    b_->Tag(1);
    EXPECT_OK(b_->Wait(*event_));
    EXPECT_OK(Sleep(*b_));
    a_->Tag(3);
    EXPECT_OK(Sleep(*a_));
    EXPECT_OK(Sleep(*a_));
    a_->Tag(-1);
    EXPECT_OK(Sleep(*a_));
  });
  const double slow = std::chrono::duration<double>(kSlow).count();
  SpanRecorder recorder;
  step->SetRecording(&recorder);
  for (int replay = 0; replay < 3; ++replay) {
    ASSERT_OK(step->Launch());
    ASSERT_OK(step->Wait());
    const std::vector<Span> spans = recorder.Spans();
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_GE(spans[0].begin, 0);
    EXPECT_GE(spans[0].end - spans[0].begin, 0.98 * slow);
    EXPECT_GE(spans[1].begin, spans[0].end - 1e-6);
    EXPECT_GE(spans[1].end - spans[1].begin, 0.98 * slow);
    EXPECT_EQ(spans[2].begin, 0);
    EXPECT_EQ(spans[2].end, 0);
    EXPECT_GE(spans[3].begin, spans[0].end - 1e-6);
    EXPECT_GE(spans[3].end - spans[3].begin, 0.98 * 2 * slow);
  }
  const double last = recorder.Spans()[0].end;
  step->SetRecording(nullptr);
  ASSERT_OK(step->Launch());
  ASSERT_OK(step->Wait());
  EXPECT_EQ(recorder.Spans()[0].end, last);
}

INSTANTIATE_TEST_SUITE_P(Backends, CapturedStepTest, testing::ValuesIn(DeviceBackends()), BackendName);

}  // namespace
}  // namespace partita
