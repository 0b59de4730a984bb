#include "tests/runtime/comm/nccl/emulated/emulated_comm.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace partita::emulated_nccl {
namespace {

// An end that takes longer reports what it waits for, so that a hanging program explains itself.
constexpr std::chrono::seconds kLongWait{20};

}  // namespace

EmulatedComm::EmulatedComm(CommOptions options)
    : options_(std::move(options)), mesh_(options_.name, rank(), size()), mover_(mesh_, rank(), size()) {}

std::string EmulatedComm::ToString() const {
  return fmt::format("communicator {} (rank {} of {})", options_.number, rank(), size());
}

ncclResult_t EmulatedComm::Begin(const char* call) {
  std::lock_guard lock(mutex_);
  if (error_ != ncclSuccess) return error_;
  if (under_way_) {
    options_.report(fmt::format("{}: {} was called while the call before it is in progress", ToString(), call));
    return ncclInvalidArgument;
  }
  if (finalize_called_) {
    options_.report(fmt::format("{}: {} was called after ncclCommFinalize", ToString(), call));
    return ncclInvalidUsage;
  }
  under_way_ = true;
  return ncclSuccess;
}

void EmulatedComm::Done() {
  std::lock_guard lock(mutex_);
  under_way_ = false;
  changed_.notify_all();
}

ncclResult_t EmulatedComm::Error() const {
  std::lock_guard lock(mutex_);
  if (error_ != ncclSuccess) return error_;
  return under_way_ ? ncclInProgress : ncclSuccess;
}

void EmulatedComm::AwaitDone() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !under_way_; });
}

void EmulatedComm::Fail(const Outcome& outcome) {
  std::lock_guard lock(mutex_);
  if (aborted_ || error_ != ncclSuccess) return;
  error_ = outcome.result;
  const bool gone = outcome.result == ncclRemoteError;
  (gone ? options_.note : options_.report)(fmt::format("{}: {}", ToString(), outcome.text));
  changed_.notify_all();
}

void EmulatedComm::Join() {
  std::vector<Hello> all;
  Outcome outcome = mesh_.Join(options_.hello, all);
  for (int a = 0; a < size() && outcome.ok(); ++a) {
    const Hello &own = options_.hello, &one = all[a];
    if (one.version != own.version) {
      outcome = {ncclInvalidUsage,
                 fmt::format("rank {} has version {} of NCCL, this one {}", a, one.version, own.version)};
    }
    for (int b = 0; b < a && outcome.ok(); ++b) {
      if (all[b].host != one.host || all[b].device != one.device) continue;
      outcome = {ncclInvalidUsage,
                 fmt::format("Duplicate GPU detected: rank {} and rank {} both on CUDA device {}", b, a, one.device)};
    }
  }
  if (!outcome.ok()) Fail(outcome);
}

// Null: all buffers are there.
const Operation* EmulatedComm::WithFreedMemory(const std::vector<Operation>& operations) const {
  for (const Operation& operation : operations) {
    for (const Bytes& bytes : {Reads(operation, rank(), size()), Writes(operation, rank(), size())}) {
      if (bytes.size > 0 && !options_.on_device(bytes.data, bytes.size)) return &operation;
    }
  }
  return nullptr;
}

void EmulatedComm::Run(const std::vector<Operation>& operations) {
  std::lock_guard running(running_);
  bool failed = false;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) return;
    failed = error_ != ncclSuccess;
  }
  if (!failed) {
    Outcome outcome;
    if (const Operation* const freed = WithFreedMemory(operations); freed != nullptr) {
      outcome = {ncclUnhandledCudaError, Describe(*freed) + ": its memory was freed before the work ran"};
    } else {
      outcome = mover_.Run(operations);
    }
    if (!outcome.ok()) Fail(outcome);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return error_ == ncclSuccess || aborted_; });
}

std::shared_ptr<void> EmulatedComm::Reference(const std::vector<Operation>& captured) {
  std::lock_guard lock(mutex_);
  ++references_;
  for (const Operation& operation : captured) {
    for (const Bytes& bytes : {Reads(operation, rank(), size()), Writes(operation, rank(), size())}) {
      if (bytes.size > 0) used_.emplace(bytes.data, bytes.size);
    }
  }
  return {this, [comm = shared_from_this()](void*) {
            std::lock_guard lock(comm->mutex_);
            --comm->references_;
            comm->changed_.notify_all();
          }};
}

void EmulatedComm::AwaitReferences(bool also_aborted) {
  std::unique_lock lock(mutex_);
  const auto gone = [&] { return references_ == 0 || (also_aborted && aborted_); };
  if (changed_.wait_for(lock, kLongWait, gone)) return;
  options_.note(fmt::format("{}: its end waits for work that has not run, or for graphs that hold it", ToString()));
  changed_.wait(lock, gone);
}

void EmulatedComm::Finalize() {
  {
    std::lock_guard lock(mutex_);
    finalize_called_ = true;
    if (error_ != ncclSuccess || aborted_) return;
  }
  AwaitReferences(/*also_aborted=*/true);
  std::lock_guard running(running_);
  if (Outcome outcome = mover_.Run({Operation()}); !outcome.ok()) return Fail(outcome);
  std::lock_guard lock(mutex_);
  finalized_ = true;
}

bool EmulatedComm::finalized() const {
  std::lock_guard lock(mutex_);
  return finalized_;
}

void EmulatedComm::CheckMemory() {
  std::set<std::pair<const char*, size_t>> used;
  {
    std::lock_guard lock(mutex_);  // not around calls of the fake CUDA, which may hold its own and want this one
    used = used_;
  }
  for (const auto& [data, bytes] : used) {
    if (options_.on_device(data, bytes)) continue;
    return options_.report(
        fmt::format("{}: memory of captured operations was freed before the communicator had ended", ToString()));
  }
}

void EmulatedComm::Abort() {
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  changed_.notify_all();
  mesh_.Stop();
}

}  // namespace partita::emulated_nccl
