#include "tools/program/queued_output.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

// What a flush waits for a reader.
constexpr milliseconds kFlushTime(100);

// What the thread and the stream share. The thread may be held up for ever, so it owns a part of this.
struct Pending {
  explicit Pending(int file) : descriptor(file) {}

  bool done() const { return error != 0 || (queued.empty() && !writing); }

  const int descriptor;
  std::mutex mutex;
  std::condition_variable changed;
  std::string queued;
  bool writing = false;
  bool ended = false;
  int error = 0;  // of the system
};

// 0, or the system's error.
int WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void WriteQueued(const std::shared_ptr<Pending>& pending) {
  std::unique_lock lock(pending->mutex);
  while (true) {
    pending->changed.wait(lock, [&] { return pending->ended || !pending->queued.empty(); });
    if (pending->ended || pending->error != 0) return;
    const std::string bytes = std::exchange(pending->queued, "");
    pending->writing = true;
    lock.unlock();
    const int error = WriteAll(pending->descriptor, bytes);
    lock.lock();
    pending->error = error;
    pending->writing = false;
    pending->changed.notify_all();
  }
}

}  // namespace

class QueuedOutput::Queue : public std::streambuf {
 public:
  explicit Queue(int descriptor) : pending_(std::make_shared<Pending>(descriptor)) {
    try {
      thread_ = std::thread(WriteQueued, pending_);
    } catch (const std::system_error&) {  // there are no more threads: who writes waits
    }
  }

  ~Queue() override {
    if (!thread_.joinable()) return;
    bool held_up = false;
    {
      std::lock_guard lock(pending_->mutex);
      pending_->ended = true;
      held_up = pending_->writing;
      pending_->changed.notify_all();
    }
    held_up ? thread_.detach() : thread_.join();
  }

  absl::Status Finish(std::optional<milliseconds> patience) {
    Pass();
    std::unique_lock lock(pending_->mutex);
    const auto done = [&] { return pending_->done(); };
    if (!patience) pending_->changed.wait(lock, done);
    if (patience && !pending_->changed.wait_for(lock, *patience, done)) {
      return absl::ResourceExhaustedError("nobody reads it");
    }
    if (pending_->error == 0) return absl::OkStatus();
    return absl::ResourceExhaustedError(std::generic_category().message(pending_->error));
  }

 protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) buffer_ += traits_type::to_char_type(c);
    return traits_type::not_eof(c);
  }

  std::streamsize xsputn(const char* text, std::streamsize count) override {
    buffer_.append(text, static_cast<size_t>(count));
    return count;
  }

  // Waits in vain once only.
  int sync() override {
    Pass();
    std::unique_lock lock(pending_->mutex);
    const auto done = [&] { return pending_->done(); };
    patient_ = patient_ ? pending_->changed.wait_for(lock, kFlushTime, done) : done();
    return pending_->error == 0 ? 0 : -1;
  }

 private:
  void Pass() {
    std::lock_guard lock(pending_->mutex);
    if (!thread_.joinable() && pending_->error == 0) pending_->error = WriteAll(pending_->descriptor, buffer_);
    if (thread_.joinable()) pending_->queued += buffer_;
    buffer_.clear();
    pending_->changed.notify_all();
  }

  const std::shared_ptr<Pending> pending_;
  std::thread thread_;
  std::string buffer_;
  bool patient_ = true;
};

QueuedOutput::QueuedOutput(int descriptor) : std::ostream(nullptr), queue_(std::make_unique<Queue>(descriptor)) {
  rdbuf(queue_.get());
}

QueuedOutput::~QueuedOutput() = default;

absl::Status QueuedOutput::Finish(std::optional<milliseconds> patience) { return queue_->Finish(patience); }

}  // namespace partita
