#include "runtime/device/host/host_stream.h"

#include <utility>

#ifndef PARTITA_NO_OPENMP
#include <omp.h>
#endif

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_captured_step.h"
#include "runtime/device/host/host_event.h"

namespace partita {
namespace {

// Items that wait, as a rule: a step that is replayed is one of them, and must not fail half-way for want of memory.
constexpr size_t kQueue = 64;

absl::StatusOr<HostEvent*> HostEventOf(Event& event, const std::string& stream) {
  if (auto* const host_event = dynamic_cast<HostEvent*>(&event)) return host_event;
  return InvalidArgument("stream '{}': an event of another kind of device", stream);
}

}  // namespace

HostStream::HostStream(std::string name, int index, const HostDevice* device, const HostDeviceOptions& options)
    : name_(std::move(name)),
      device_(device),
      threads_(options.threads),
      stack_bytes_(options.stack_bytes),
      delay_(options.delay, index) {}

absl::StatusOr<std::unique_ptr<HostStream>> HostStream::Create(std::string name, int index, const HostDevice* device,
                                                               const HostDeviceOptions& options, bool stays) {
  if (options.threads < 1) return InvalidArgument("stream '{}': {} threads; at least 1", name, options.threads);
  std::unique_ptr<HostStream> stream(new HostStream(std::move(name), index, device, options));
  stream->queue_.reserve(kQueue);
  stream->work_.reserve(kQueue);
  RETURN_IF_ERROR(stream->Start(stays ? options.cores : std::vector<int>{}));
  return stream;
}

absl::Status HostStream::Start(std::span<const int> cores) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  int error = stack_bytes_ > 0 ? pthread_attr_setstacksize(&attributes, stack_bytes_) : 0;
  if (error == 0 && !cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(core, &set);
    error = pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
  }
  if (error == 0) {
    const auto run = [](void* stream) -> void* {
      static_cast<HostStream*>(stream)->Loop();
      return nullptr;
    };
    error = pthread_create(&thread_, &attributes, run, this);
  }
  pthread_attr_destroy(&attributes);
  if (error != 0) return NoThread(fmt::format("stream '{}': cannot start its thread", name_), error);
  started_ = true;
  pthread_setname_np(thread_, name_.substr(0, 15).c_str());  // what the kernel keeps; only debuggers read it
  return absl::OkStatus();
}

HostStream::~HostStream() {
  if (!started_) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_came_.notify_one();
  CHECK(pthread_join(thread_, nullptr) == 0);
}

absl::Status HostStream::Record(Event& event) {
  ASSIGN_OR_RETURN(HostEvent* const host_event, HostEventOf(event, name_));
  HostNode node;
  node.kind = HostNode::Kind::kRecord;
  if (capturing()) {
    node.signal = capture_->NewSignal();
    capture_->Add(capture_part_, node);
    host_event->capture_ = capture_->id();
    host_event->captured_signal_ = node.signal;
    return absl::OkStatus();
  }
  auto signal = std::make_shared<Signal>();
  node.signal = signal.get();
  {
    std::lock_guard lock(host_event->mutex_);
    host_event->signal_ = signal;
  }
  host_event->capture_ = 0;
  Push({.node = node, .signal = std::move(signal)});
  return absl::OkStatus();
}

absl::Status HostStream::Wait(Event& event) {
  ASSIGN_OR_RETURN(HostEvent* const host_event, HostEventOf(event, name_));
  if (host_event->capture_ != (capturing() ? capture_->id() : 0)) {
    return InvalidArgument("stream '{}': waits {} for an event that was not recorded there before", name_,
                           capturing() ? "inside a capture" : "outside of captures");
  }
  HostNode node;
  node.kind = HostNode::Kind::kWait;
  if (capturing()) {
    node.signal = host_event->captured_signal_;
    capture_->Add(capture_part_, node);
    return absl::OkStatus();
  }
  std::shared_ptr<Signal> signal = host_event->latest();
  if (signal == nullptr) return absl::OkStatus();
  node.signal = signal.get();
  Push({.node = node, .signal = std::move(signal)});
  return absl::OkStatus();
}

absl::Status HostStream::Copy(void* to, const void* from, int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && (to == nullptr || from == nullptr))) {
    return InvalidArgument("stream '{}': cannot copy {} bytes from {} to {}", name_, bytes, from, to);
  }
  if (bytes == 0) return absl::OkStatus();
  HostNode node;
  node.kind = HostNode::Kind::kCopy;
  node.copy = {to, from, bytes};
  return Add(node);
}

absl::Status HostStream::CopyStrided(const StridedCopy& copy) {
  if (copy.run_bytes == 0) return absl::OkStatus();
  if (copy.dimensions.empty()) return Copy(copy.to, copy.from, copy.run_bytes);
  const auto run = [](void* argument) {
    RunStridedCopy(*static_cast<const StridedCopy*>(argument));
    return absl::OkStatus();
  };
  return Enqueue({run, const_cast<StridedCopy*>(&copy)});
}

absl::Status HostStream::Zero(void* to, int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && to == nullptr)) {
    return InvalidArgument("stream '{}': cannot zero {} bytes at {}", name_, bytes, to);
  }
  if (bytes == 0) return absl::OkStatus();
  HostNode node;
  node.kind = HostNode::Kind::kZero;
  node.copy = {to, nullptr, bytes};
  return Add(node);
}

absl::Status HostStream::Enqueue(HostTask task) {
  if (task.run == nullptr) return InvalidArgument("stream '{}': a task without a function", name_);
  HostNode node;
  node.task = task;
  return Add(node);
}

absl::Status HostStream::Synchronize() {
  if (capturing()) return absl::FailedPreconditionError(fmt::format("stream '{}' is being captured", name_));
  std::unique_lock lock(mutex_);
  work_done_.wait(lock, [this] { return done_ == pushed_; });
  return std::exchange(error_, absl::OkStatus());
}

absl::Status HostStream::Add(HostNode node) {
  node.tag = tag_;
  if (capturing()) {
    capture_->Add(capture_part_, node);
  } else {
    Push({.node = node, .signal = nullptr});
  }
  return absl::OkStatus();
}

void HostStream::Push(Item item) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
    ++pushed_;
  }
  work_came_.notify_one();
}

void HostStream::Loop() {
#ifndef PARTITA_NO_OPENMP
  omp_set_num_threads(threads_);
#endif
  std::unique_lock lock(mutex_);
  while (true) {
    work_came_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    work_.swap(queue_);
    failed_ = !error_.ok();
    lock.unlock();
    const auto count = static_cast<int64_t>(work_.size());
    for (const Item& item : work_) RunItem(item);
    work_.clear();
    lock.lock();
    done_ += count;
    work_done_.notify_all();
  }
}

void HostStream::RunItem(const Item& item) {
  if (item.step != nullptr) {
    item.step->Run(item.part);
  } else if (item.node.kind == HostNode::Kind::kRecord) {
    item.node.signal->Raise(1);
  } else if (item.node.kind == HostNode::Kind::kWait) {
    item.node.signal->Await(1);
  } else {
    RunTask(item.node);
  }
}

void HostStream::RunTask(const HostNode& node) {
  if (failed_) return;
  SleepBefore(delay_, tasks_run_++, 0);
  absl::Status status = RunHostTask(node);
  if (status.ok()) return;
  failed_ = true;
  std::lock_guard lock(mutex_);
  error_ = std::move(status);
}

}  // namespace partita
