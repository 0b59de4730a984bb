#include "runtime/comm/processes/process_world_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/processes/slot_hash.h"

namespace partita {
namespace {

// Time for the reason of a failure to come before the end of a connection is taken for it.
constexpr std::chrono::milliseconds kReasonDelay(300);

// For a good-bye to be sent.
constexpr std::chrono::milliseconds kFarewell(100);

static_assert(sizeof(PeerMessage) <= kMostMessageBytes);

std::span<const char> BytesOf(const PeerMessage& message) {
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

}  // namespace

std::string ProcessGroup::Describe() const {
  return fmt::format("group {}: {}, sequence number {}", id, call->Describe(), call->sequence);
}

ProcessWorldState::ProcessWorldState(std::unique_ptr<PeerMesh> mesh, std::unique_ptr<PeerMemory> memory,
                                     const ProcessWorldOptions& options)
    : options_(options),
      memory_(std::move(memory)),
      recorder_(mesh->size()),
      peers_(static_cast<size_t>(mesh->size())),
      mesh_(std::move(mesh)) {
  mesh_->Start([this](int rank) { return EventsOf(rank); });
  if (mesh_->size() > 1) watcher_ = std::thread([this] { WatchCalls(); });
}

ProcessWorldState::~ProcessWorldState() {
  {
    Lock lock(mutex_);
    leaving_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  PeerMessage leave;
  leave.kind = PeerMessage::Kind::kLeave;
  mesh_->SayToAll(BytesOf(leave));
  mesh_->Flush(kFarewell);
}

absl::StatusOr<ProcessGroup*> ProcessWorldState::Join(int id, std::vector<int> ranks, int rank) {
  Lock lock(mutex_);
  std::unique_ptr<ProcessGroup>& group = groups_[id];
  if (group != nullptr) return InvalidArgument("group {}: rank {} has joined already", id, rank);
  group = std::make_unique<ProcessGroup>();
  group->id = id;
  group->rank = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  group->ranks = std::move(ranks);
  return group.get();
}

absl::Status ProcessWorldState::Begin(ProcessGroup& group, BlockCall& call) {
  Lock lock(mutex_);
  call.sequence = ++group.calls;
  RETURN_IF_ERROR(aborted_);
  if (group.call != nullptr) {
    return absl::InternalError(MismatchMessage(group.id, "one rank runs two calls at a time",
                                               {mesh_->rank(), call.Describe(), call.sequence},
                                               {mesh_->rank(), group.call->Describe(), group.call->sequence}));
  }
  group.call = &call;
  group.begin = Clock::now();
  return absl::OkStatus();
}

absl::Status ProcessWorldState::Run(ProcessGroup& group, BlockCall& call) {
  if (const absl::Status begun = Begin(group, call); !begun.ok()) return EndFailed(begun);
  const absl::Status status = call.Run(HashOf({group.id, call.sequence}));
  if (status.ok()) {
    Lock lock(mutex_);
    group.call = nullptr;
    return status;
  }
  const absl::Status failed = EndFailed(status);
  Lock lock(mutex_);
  group.call = nullptr;
  return failed;
}

// The reason why this world ends, when nothing touches buffers any more.
absl::Status ProcessWorldState::EndFailed(const absl::Status& status) {
  Lock lock(mutex_);
  changed_.wait_for(lock, status.code() == absl::StatusCode::kUnavailable ? kReasonDelay : std::chrono::milliseconds(0),
                    [&] { return !aborted_.ok(); });
  if (aborted_.ok()) {
    lock.unlock();
    Abort(status);
    lock.lock();
  }
  changed_.wait(lock, [&] { return closed_; });
  return aborted_;
}

void ProcessWorldState::Abort(const absl::Status& status) {
  {
    Lock lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    changed_.notify_all();
  }
  mesh_->SayToAll(BytesOf(AbortOf(status)));
  AwaitLastWords();
  mesh_->Close();
  EndProgramsCalls();
  Lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

// Closing drops what is still on its way: the others hear why this world ends, and answer with an abort of their own.
void ProcessWorldState::AwaitLastWords() {
  Lock lock(mutex_);
  changed_.wait_for(lock, kReasonDelay / 2, [&] {
    for (int rank = 0; rank < mesh_->size(); ++rank) {
      if (rank != mesh_->rank() && !peers_[rank].ended) return false;
    }
    return true;
  });
}

// Connections of our own end without the program, but its all_reduce does not.
void ProcessWorldState::EndProgramsCalls() {
  if (channel() == nullptr || !channel()->all_reduce) return;
  for (int rank = 0; rank < mesh_->size(); ++rank) {
    if (rank != mesh_->rank()) channel()->close(rank);
  }
}

PeerEvents ProcessWorldState::EventsOf(int rank) {
  return {[this, rank](std::span<const char> bytes) { return Hear(rank, bytes); },
          [this, rank](const std::string& flaw) { EndOfConnection(rank, flaw); }};
}

// False: there is nothing more to listen to.
bool ProcessWorldState::Hear(int rank, std::span<const char> bytes) {
  PeerMessage message;
  std::string flaw = fmt::format("a message of {} bytes", bytes.size());
  if (bytes.size() == sizeof(message)) {
    std::memcpy(static_cast<void*>(&message), bytes.data(), sizeof(message));
    flaw = FindFlaw(message);
  }
  if (!flaw.empty()) {
    EndDamaged(rank, flaw);
    return false;
  }
  Peer& peer = peers_[rank];
  switch (message.kind) {
    case PeerMessage::Kind::kProbe:
      HearProbe(rank, message);
      break;
    case PeerMessage::Kind::kAnswer:
      break;
    case PeerMessage::Kind::kAbort:
      End(rank);
      Abort(StatusOf(message));
      return false;
    case PeerMessage::Kind::kLeave:
      peer.left = true;
      End(rank);
      return false;
  }
  Lock lock(mutex_);
  peer.heard = Clock::now();
  if (message.kind == PeerMessage::Kind::kAnswer) peer.asked = false;
  return true;
}

void ProcessWorldState::End(int rank) {
  Lock lock(mutex_);
  peers_[rank].ended = true;
  changed_.notify_all();
}

void ProcessWorldState::EndDamaged(int rank, const std::string& flaw) {
  End(rank);
  Abort(Unavailable("rank {} says what no rank would: {}; is the connection to it damaged?", rank, flaw));
}

void ProcessWorldState::HearProbe(int rank, const PeerMessage& probe) {
  PeerMessage answer;
  answer.kind = PeerMessage::Kind::kAnswer;
  mesh_->Say(rank, BytesOf(answer));
  std::string mismatch;
  {
    Lock lock(mutex_);
    const auto found = groups_.find(probe.group);
    if (found == groups_.end() || found->second->call == nullptr) return;
    const ProcessGroup& group = *found->second;
    const auto place = std::ranges::find(group.ranks, rank);
    if (place == group.ranks.end()) return;
    const int position = static_cast<int>(place - group.ranks.begin());
    const std::string why = FindMismatch(*group.call, position, probe);
    if (why.empty()) return;
    mismatch = MismatchMessage(group.id, why, {mesh_->rank(), group.call->Describe(), group.call->sequence},
                               {rank, probe.Text(), probe.sequence});
  }
  Abort(absl::InternalError(mismatch));
}

void ProcessWorldState::EndOfConnection(int rank, const std::string& flaw) {
  End(rank);
  absl::Status status;
  {
    Lock lock(mutex_);
    if (leaving_ || !aborted_.ok()) return;
    status = Unavailable("rank {} is gone: its connection to rank {} ended{}", rank, mesh_->rank(), InFlightLocked());
  }
  if (!flaw.empty()) return EndDamaged(rank, flaw);
  Abort(status);
}

void ProcessWorldState::WatchCalls() {
  const auto interval = options_.probe_after / 2;
  Lock lock(mutex_);
  while (!leaving_ && aborted_.ok()) {
    changed_.wait_for(lock, interval, [&] { return leaving_ || !aborted_.ok(); });
    for (auto& [id, group] : groups_) {
      if (group->call == nullptr || leaving_ || !aborted_.ok()) continue;
      const absl::Status status = Examine(*group, Clock::now());
      if (status.ok()) continue;
      lock.unlock();
      Abort(status);
      lock.lock();
      break;
    }
  }
}

// A call under way: asks those for whom it may wait, and loses patience with one that does not answer.
absl::Status ProcessWorldState::Examine(ProcessGroup& group, Clock::time_point now) {
  if (now - group.begin < options_.probe_after) return absl::OkStatus();
  const int awaited = group.call->awaited.load(std::memory_order_relaxed);
  if (now - group.begin > options_.longest_wait && awaited != BlockCall::kNone) {
    const std::string late =
        awaited == BlockCall::kAll ? "an all_reduce of the program" : fmt::format("rank {}", group.ranks[awaited]);
    return Unavailable("{} has been waited for longer than {} ms; in flight: {}", late, options_.longest_wait.count(),
                       group.Describe());
  }
  for (int position = 0; position < static_cast<int>(group.ranks.size()); ++position) {
    const int rank = group.ranks[position];
    if (rank == mesh_->rank()) continue;
    const Peer& peer = peers_[rank];
    if (peer.left) {
      if (position != awaited && awaited != BlockCall::kAll) continue;
      return Unavailable("rank {} has left, but is waited for; in flight: {}", rank, group.Describe());
    }
    if (!peer.asked) {
      Ask(group, position, now);
    } else if (now - peer.heard > options_.timeout) {
      return Unavailable("rank {} has not answered for {} ms; in flight: {}", rank, options_.timeout.count(),
                         group.Describe());
    }
  }
  return absl::OkStatus();
}

void ProcessWorldState::Ask(ProcessGroup& group, int position, Clock::time_point now) {
  const int rank = group.ranks[position];
  peers_[rank].asked = true;
  peers_[rank].heard = now;
  mesh_->Say(rank, BytesOf(ProbeOf(*group.call, group.id, position)));
}

std::string ProcessWorldState::InFlight() const {
  Lock lock(mutex_);
  return InFlightLocked();
}

std::string ProcessWorldState::InFlightLocked() const {
  std::string text;
  for (const auto& [id, group] : groups_) {
    if (group->call != nullptr) text += fmt::format("; in flight: {}", group->Describe());
  }
  return text;
}

}  // namespace partita
