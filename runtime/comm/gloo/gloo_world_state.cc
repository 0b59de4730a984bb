#include "runtime/comm/gloo/gloo_world_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_hash.h"

namespace partita {
namespace {

// Of messages between two ranks; the slots of blocks are hashes.
constexpr uint64_t kMessageSlot = 1;

// Receives posted ahead, so that a last word is not held back.
constexpr int kPosted = 4;

// Time for the reason of a failure to come before the end of a connection is taken for it.
constexpr std::chrono::milliseconds kReasonDelay(300);

absl::Status SendMessage(GlooBuffer& buffer, int rank) {
  return CallGloo([&] { buffer.Send(rank, kMessageSlot, 0, sizeof(GlooMessage)); });
}

}  // namespace

std::string GlooGroup::Describe() const {
  return fmt::format("group {}: {}, sequence number {}", id, call->Describe(), call->sequence);
}

GlooWorldState::GlooWorldState(std::unique_ptr<GlooMesh> mesh, const GlooOptions& options)
    : mesh_(std::move(mesh)), options_(options), recorder_(mesh_->size()) {
  StartListening();
}

void GlooWorldState::StartListening() {
  for (int rank = 0; rank < mesh_->size(); ++rank) {
    peers_.push_back(rank == mesh_->rank() ? nullptr : std::make_unique<Peer>());
    if (peers_.back() == nullptr) continue;
    Peer& peer = *peers_.back();
    peer.messages.resize(kPosted);
    for (GlooMessage& message : peer.messages) {
      peer.incoming.push_back(mesh_->NewBuffer(&message, sizeof(message)));
    }
    peer.probe_buffer = mesh_->NewBuffer(&peer.probe, sizeof(GlooMessage));
    peer.answer_buffer = mesh_->NewBuffer(&peer.answer, sizeof(GlooMessage));
    peer.last_buffer = mesh_->NewBuffer(&peer.last, sizeof(GlooMessage));
  }
  try {
    for (int rank = 0; rank < mesh_->size(); ++rank) {
      if (peers_[rank] != nullptr) peers_[rank]->listener = std::thread([this, rank] { Listen(rank); });
    }
    if (mesh_->size() > 1) watcher_ = std::thread([this] { WatchCalls(); });
  } catch (...) {  // no more threads: those that run must have ended before the caller is told
    StopListening();
    throw;
  }
}

GlooWorldState::~GlooWorldState() { StopListening(); }

void GlooWorldState::StopListening() {
  {
    Lock lock(mutex_);
    leaving_ = true;
    changed_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();
  GlooMessage leave;
  leave.kind = GlooMessage::Kind::kLeave;
  SayLast(leave);
  for (auto& peer : peers_) {
    if (peer == nullptr || !peer->listener.joinable()) continue;
    // A listener may take a message between two of these; it looks at leaving_ then.
    for (auto& buffer : peer->incoming) buffer->Interrupt();
    peer->listener.join();
  }
}

absl::StatusOr<GlooGroup*> GlooWorldState::Join(int id, std::vector<int> ranks, int rank) {
  Lock lock(mutex_);
  std::unique_ptr<GlooGroup>& group = groups_[id];
  if (group != nullptr) return InvalidArgument("group {}: rank {} has joined already", id, rank);
  group = std::make_unique<GlooGroup>();
  group->id = id;
  group->rank = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  group->pair_sequences.resize(ranks.size());
  group->ranks = std::move(ranks);
  return group.get();
}

absl::Status GlooWorldState::Begin(GlooGroup& group, GlooCall& call, std::vector<uint64_t>& runs_by_peer) {
  Lock lock(mutex_);
  call.sequence = ++group.calls;
  RETURN_IF_ERROR(aborted_);
  if (group.call != nullptr) {
    return absl::InternalError(MismatchMessage(group.id, "one rank runs two calls at a time",
                                               {mesh_->rank(), call.Describe(), call.sequence},
                                               {mesh_->rank(), group.call->Describe(), group.call->sequence}));
  }
  if (call.operation != CommOperation::kSendReceive) {
    ++group.collectives;
  } else {
    runs_by_peer.resize(group.ranks.size());
    for (const CommPair& pair : call.pairs) {
      const int64_t sequence = ++group.pair_sequences[pair.peer];
      runs_by_peer[pair.peer] = HashOf({group.id, sequence, 1});
    }
  }
  group.call = &call;
  group.begin = Clock::now();
  return absl::OkStatus();
}

absl::Status GlooWorldState::Run(GlooGroup& group, GlooCall& call) {
  std::vector<uint64_t> runs_by_peer;
  if (const absl::Status begun = Begin(group, call, runs_by_peer); !begun.ok()) return EndFailed(begun);
  const uint64_t run = HashOf({group.id, group.collectives, 0});
  const absl::Status status = call.Run(run, runs_by_peer);
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
absl::Status GlooWorldState::EndFailed(const absl::Status& status) {
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

void GlooWorldState::Abort(const absl::Status& status) {
  {
    Lock lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    changed_.notify_all();
  }
  SayLast(AbortOf(status));
  AwaitLastWords();
  mesh_->Close();
  Lock lock(mutex_);
  for (auto& [id, group] : groups_) {
    if (group->call != nullptr) group->call->Interrupt();
  }
  for (auto& peer : peers_) {
    for (size_t b = 0; peer != nullptr && b < peer->incoming.size(); ++b) peer->incoming[b]->Interrupt();
  }
  closed_ = true;
  changed_.notify_all();
}

void GlooWorldState::SayLast(const GlooMessage& message) {
  for (int rank = 0; rank < mesh_->size(); ++rank) {
    if (peers_[rank] == nullptr) continue;
    peers_[rank]->last = message;
    SendMessage(*peers_[rank]->last_buffer, rank).IgnoreError();  // who is gone needs no word
  }
}

// Closing drops what is still on its way: the others hear why this world ends, and answer with an abort of their own.
void GlooWorldState::AwaitLastWords() {
  Lock lock(mutex_);
  changed_.wait_for(lock, kReasonDelay / 2, [&] {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer == nullptr || peer->ended; });
  });
}

void GlooWorldState::Listen(int rank) {
  Peer& peer = *peers_[rank];
  const auto post = [&](int b) {
    return CallGloo([&] { peer.incoming[b]->Receive(rank, kMessageSlot, 0, sizeof(GlooMessage)); });
  };
  absl::Status status;
  for (int b = 0; b < kPosted && status.ok(); ++b) status = post(b);
  for (int b = 0; status.ok(); b = (b + 1) % kPosted) {
    bool came = false;
    status = CallGloo([&] { came = peer.incoming[b]->AwaitReceive(rank); });
    if (!status.ok()) break;
    if (!came || !Handle(rank, peer.messages[b])) return;
    status = post(b);
  }
  EndOfConnection(rank);
}

// False: there is nothing more to listen to.
bool GlooWorldState::Handle(int rank, const GlooMessage& message) {
  Peer& peer = *peers_[rank];
  if (const std::string flaw = FindFlaw(message); !flaw.empty()) {
    End(peer);
    Abort(Unavailable("rank {} says what no rank would: {}; is the connection to it damaged?", rank, flaw));
    return false;
  }
  switch (message.kind) {
    case GlooMessage::Kind::kProbe:
      HandleProbe(rank, message);
      break;
    case GlooMessage::Kind::kAnswer:
      break;
    case GlooMessage::Kind::kAbort:
      End(peer);
      Abort(StatusOf(message));
      return false;
    case GlooMessage::Kind::kLeave:
      peer.left = true;
      End(peer);
      return false;
  }
  Lock lock(mutex_);
  peer.heard = Clock::now();
  if (message.kind == GlooMessage::Kind::kAnswer) peer.asked = false;
  return !leaving_;
}

void GlooWorldState::End(Peer& peer) {
  Lock lock(mutex_);
  peer.ended = true;
  changed_.notify_all();
}

void GlooWorldState::HandleProbe(int rank, const GlooMessage& probe) {
  Peer& peer = *peers_[rank];
  peer.answer.kind = GlooMessage::Kind::kAnswer;
  SendMessage(*peer.answer_buffer, rank).IgnoreError();
  std::string mismatch;
  {
    Lock lock(mutex_);
    const auto found = groups_.find(probe.group);
    if (found == groups_.end() || found->second->call == nullptr) return;
    const GlooGroup& group = *found->second;
    const auto place = std::ranges::find(group.ranks, rank);
    if (place == group.ranks.end()) return;
    const int position = static_cast<int>(place - group.ranks.begin());
    const std::string why =
        FindMismatch(*group.call, position, probe, group.collectives, group.pair_sequences[position]);
    if (why.empty()) return;
    mismatch = MismatchMessage(group.id, why, {mesh_->rank(), group.call->Describe(), group.call->sequence},
                               {rank, probe.Text(), probe.sequence});
  }
  Abort(absl::InternalError(mismatch));
}

void GlooWorldState::EndOfConnection(int rank) {
  End(*peers_[rank]);
  absl::Status status;
  {
    Lock lock(mutex_);
    if (leaving_ || !aborted_.ok()) return;
    status = Unavailable("rank {} is gone: its connection to rank {} ended{}", rank, mesh_->rank(), InFlightLocked());
  }
  Abort(status);
}

void GlooWorldState::WatchCalls() {
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
absl::Status GlooWorldState::Examine(GlooGroup& group, Clock::time_point now) {
  if (now - group.begin < options_.probe_after) return absl::OkStatus();
  const int awaited = group.call->awaited.load(std::memory_order_relaxed);
  if (now - group.begin > options_.longest_wait && awaited >= 0) {
    return Unavailable("rank {} has been waited for longer than {} ms; in flight: {}", group.ranks[awaited],
                       options_.longest_wait.count(), group.Describe());
  }
  for (int position = 0; position < static_cast<int>(group.ranks.size()); ++position) {
    const int rank = group.ranks[position];
    Peer* const peer = peers_[rank].get();
    if (peer == nullptr) continue;
    if (peer->left) {
      if (position != awaited) continue;
      return Unavailable("rank {} has left, but is waited for; in flight: {}", rank, group.Describe());
    }
    if (!peer->asked) {
      Ask(group, position, now);
    } else if (now - peer->heard > options_.timeout) {
      return Unavailable("rank {} has not answered for {} ms; in flight: {}", rank, options_.timeout.count(),
                         group.Describe());
    }
  }
  return absl::OkStatus();
}

void GlooWorldState::Ask(GlooGroup& group, int position, Clock::time_point now) {
  const int rank = group.ranks[position];
  Peer& peer = *peers_[rank];
  peer.asked = true;
  peer.heard = now;
  peer.probe = ProbeOf(*group.call, group.id, position, group.collectives, group.pair_sequences[position]);
  SendMessage(*peer.probe_buffer, rank).IgnoreError();  // the listener sees the end of a connection
}

std::string GlooWorldState::InFlight() const {
  Lock lock(mutex_);
  return InFlightLocked();
}

std::string GlooWorldState::InFlightLocked() const {
  std::string text;
  for (const auto& [id, group] : groups_) {
    if (group->call != nullptr) text += fmt::format("; in flight: {}", group->Describe());
  }
  return text;
}

}  // namespace partita
