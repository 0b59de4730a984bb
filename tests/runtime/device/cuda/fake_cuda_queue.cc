#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "tests/runtime/device/cuda/fake_cuda_state.h"

namespace partita::fake_cuda {
namespace {

double EndOfNext(const FakeStream& stream) {
  const Work& work = stream.queue.front();
  return std::max(stream.free_at, work.waits == nullptr ? 0 : work.waits->at) + work.lasts;
}

// The stream whose next work ends first; null: none can go on.
FakeStream* NextStream() {
  FakeStream* next = nullptr;
  const auto consider = [&](FakeStream* stream) {
    if (stream->queue.empty()) return;
    const std::shared_ptr<Mark>& waits = stream->queue.front().waits;
    if (waits != nullptr && !waits->reached) return;
    if (next == nullptr || EndOfNext(*stream) < EndOfNext(*next)) next = stream;
  };
  consider(&current->default_stream);
  for (FakeStream* stream : current->streams) consider(stream);
  return next;
}

void RunNext(FakeStream& stream) {
  stream.free_at = EndOfNext(stream);
  const Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  current->clock = stream.free_at - work.lasts;
  if (work.run) work.run();
  current->clock = stream.free_at;
  if (work.marks != nullptr) *work.marks = {true, stream.free_at};
}

}  // namespace

void RunUntil(const std::function<bool()>& done) {
  while (!done()) {
    FakeStream* const stream = NextStream();
    CHECK(stream != nullptr);
    RunNext(*stream);
  }
}

}  // namespace partita::fake_cuda
