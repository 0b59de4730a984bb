// A device of the backend under test, with helpers that keep the functions of enqueued work alive.
#ifndef PARTITA_TESTS_CONFORMANCE_DEVICE_FIXTURE_H_
#define PARTITA_TESTS_CONFORMANCE_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "tests/conformance/device_backend.h"
#include "tests/testing/assert_ok.h"

namespace partita {

// How long a task sleeps that others must wait for: long enough that a missing wait shows.
constexpr auto kSlow = std::chrono::milliseconds(5);

class DeviceTest : public testing::TestWithParam<const DeviceBackend*> {
 protected:
  using Work = std::function<absl::Status()>;

  std::unique_ptr<Stream> NewStream(const std::string& name) { return *device_->CreateStream(name); }
  std::unique_ptr<Event> NewEvent() { return *device_->CreateEvent(); }

  absl::Status Enqueue(Stream& stream, Work work) {
    return GetParam()->Enqueue(stream, work_.emplace_back(std::move(work)));
  }

  // Work that cannot fail.
  absl::Status Run(Stream& stream, std::function<void()> work) {
    return Enqueue(stream, [work = std::move(work)] {
      work();
      return absl::OkStatus();
    });
  }

  absl::Status Sleep(Stream& stream) {
    return Run(stream, [] { std::this_thread::sleep_for(kSlow); });
  }

  std::unique_ptr<CapturedStep> Capture(std::vector<Stream*> streams, const std::function<void()>& enqueue) {
    EXPECT_OK(device_->BeginCapture(streams));
    enqueue();
    absl::StatusOr<std::unique_ptr<CapturedStep>> step = device_->EndCapture();
    EXPECT_TRUE(step.ok()) << step.status();
    return *std::move(step);
  }

  std::deque<Work> work_;  // outlives the streams
  const std::unique_ptr<Device> device_ = GetParam()->CreateDevice();
};

inline std::string BackendName(const testing::TestParamInfo<const DeviceBackend*>& info) { return info.param->name(); }

}  // namespace partita

#endif  // PARTITA_TESTS_CONFORMANCE_DEVICE_FIXTURE_H_
