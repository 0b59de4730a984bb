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
  stream.busy = true;
  if (work.replays) {
    work.run();
  } else if (work.run && !current->dead()) {
    Perform(work.run);
  }
  stream.busy = false;
  current->clock = stream.free_at;
  if (work.marks != nullptr) *work.marks = {true, stream.free_at};
}

thread_local std::unique_lock<std::mutex>* lock_of_thread = nullptr;

}  // namespace

Turn::Turn() : outer_(lock_of_thread) {
  if (!current->has_thread || outer_ != nullptr) return;
  lock_ = std::unique_lock(current->mutex);
  lock_of_thread = &lock_;
}

Turn::~Turn() { lock_of_thread = outer_; }

void Perform(const std::function<void()>& run) {
  if (!current->has_thread) return run();
  std::unique_lock<std::mutex>& lock = *std::exchange(lock_of_thread, nullptr);
  lock.unlock();
  run();
  lock.lock();
  lock_of_thread = &lock;
}

bool AllIdle() {
  return current->default_stream.idle() &&
         std::ranges::all_of(current->streams, [](const FakeStream* stream) { return stream->idle(); });
}

void DoWork() {
  const Turn turn;
  for (;;) {
    current->changed.wait(*lock_of_thread, [] { return current->ending || NextStream() != nullptr; });
    if (current->ending) return;
    RunNext(*NextStream());
    current->changed.notify_all();
  }
}

void RunUntil(const std::function<bool()>& done) {
  if (current->has_thread) return current->changed.wait(*lock_of_thread, done);
  while (!done()) {
    FakeStream* const stream = NextStream();
    CHECK(stream != nullptr);
    RunNext(*stream);
  }
}

}  // namespace partita::fake_cuda
