// An all_reduce of ranks that can read each other's memory (peer_memory.h).
//
// Each says where its elements are. It reads what the others have of its own block, adds, and tells them, part by part,
// that the sums are there; they read them. Who has read all says so, and nobody leaves before all have. All lies in
// arenas, which are mapped: what is added is read in place.
#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/comm/processes/block_call.h"
#include "runtime/comm/processes/slot_hash.h"
#include "runtime/comm/shared/host_reduce.h"
#include "runtime/comm/shared/stream_copy.h"

namespace partita {
namespace {

// Less is sent, also where it could be read: three notes, one after the other, take longer than a few copies.
constexpr int64_t kLeastBytes = kLeastSharedBytes;

// Of a peer, read at a time: it, what it is added to and the sums stay in a core's cache.
constexpr int64_t kReadBytes = 256 << 10;

// From so many on the sums are written past the caches, which hold no more of them than the next node reads first.
constexpr int64_t kLeastStreamed = 4 << 20;

// Of a part. The sums of one are read while they are in a cache; a note wakes a thread.
constexpr int64_t kPartBytes = 1 << 20;

}  // namespace

bool BlockCall::CanReadPeers() const {
  return kind == CollectiveKind::kAllReduce && size() > 1 && in.bytes() >= kLeastBytes &&
         reader_->memory->Connects(ranks_);
}

int64_t BlockCall::Parts(int owner) const {
  const int64_t bytes = BlockOf(owner).count * SizeOf(in.dtype);
  return (bytes + kPartBytes - 1) / kPartBytes;
}

ElementRange BlockCall::PartOf(int owner, int64_t part) const {
  const ElementRange block = BlockOf(owner);
  const int64_t elements = kPartBytes / SizeOf(in.dtype), first = part * elements;
  return {block.first + first, std::min(elements, block.count - first)};
}

absl::Status BlockCall::PrepareReading() {
  chunk_ = kReadBytes / SizeOf(in.dtype);
  own_place_ = {FindSharedPlace(in.data), FindSharedPlace(out.data)};
  if (own_place_.in.descriptor < 0 || own_place_.out.descriptor < 0) {
    return ResourceExhausted("{}: rank {} has it in no memory that the others on this host can map", Describe(),
                             ranks_[rank]);
  }
  places_.resize(ranks_.size());
  mapped_in_.resize(ranks_.size());
  mapped_out_.resize(ranks_.size());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    AddSend(sends_, peer, &own_place_, sizeof(Place), ChunkTag(kPlaceBlock, 0));
    AddReceive(receives_, peer, &places_[peer], sizeof(Place), ChunkTag(kPlaceBlock, 0));
    place_receives_.push_back(&receives_.back());
  }
  AddNotes();
  return absl::OkStatus();
}

// A note is a block of one byte, any. Each comes to a place of its own: several threads may bring them.
void BlockCall::AddNotes() {
  int64_t notes = 0;
  for (int peer = 0; peer < size(); ++peer) notes += peer == rank ? 0 : Parts(peer) + 1;
  notes_.resize(static_cast<size_t>(notes));
  char* to = notes_.data();
  constexpr int64_t kTaken = -1;
  const auto receive = [&](int peer, int64_t note) {
    AddReceive(receives_, peer, to++, 1, ChunkTag(kNoteBlock, note));
  };
  const auto send = [&](int64_t note) {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank) AddSend(result_sends_, peer, &own_place_, 1, ChunkTag(kNoteBlock, note));
    }
  };
  done_.resize(ranks_.size());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    for (int64_t part = 0; part < Parts(peer); ++part) {
      receive(peer, part);
      done_[peer].push_back(&receives_.back());
    }
    receive(peer, kTaken);
  }
  for (int64_t part = 0; part < Parts(rank); ++part) send(part);
  send(kTaken);
}

absl::Status BlockCall::ReduceByReading() {
  for (PeerBlock* const place : place_receives_) RETURN_IF_ERROR(AwaitReceive(*place));
  RETURN_IF_ERROR(MapPeers());
  auto note = result_sends_.begin();
  const auto send_notes = [&] {
    for (int peer = 0; peer < size() - 1; ++peer) Send(*note++);
  };
  const int64_t own = Parts(rank), most = Parts(0);  // no block is larger than the first
  for (int64_t part = 0; part <= most; ++part) {
    if (part < own) {
      ReducePart(PartOf(rank, part));
      send_notes();
    }
    if (part > 0) RETURN_IF_ERROR(TakeSums(part - 1));
  }
  send_notes();
  return absl::OkStatus();
}

absl::Status BlockCall::MapPeers() {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank) continue;
    const pid_t process = reader_->memory->process(ranks_[peer]);
    mapped_in_[peer] = reader_->arenas.Find(process, places_[peer].in, in.bytes());
    mapped_out_[peer] = reader_->arenas.Find(process, places_[peer].out, in.bytes());
    if (mapped_in_[peer] != nullptr && mapped_out_[peer] != nullptr) continue;
    return Unavailable("the memory of rank {} cannot be mapped", ranks_[peer]);
  }
  return absl::OkStatus();
}

void BlockCall::ReducePart(const ElementRange& part) {
  for (int64_t done = 0; done < part.count; done += chunk_) {
    const int64_t first = part.first + done, count = std::min(chunk_, part.count - done);
    const int64_t bytes = SizeOf(in.dtype);
    for (int peer = 0; peer < size(); ++peer) {
      inputs_[peer] = peer == rank ? At(in, first) : mapped_in_[peer] + first * bytes;
    }
    wire += (size() - 1) * count * bytes;
    ReduceElements(reduction, in.dtype, inputs_, count, At(out, first));
  }
}

absl::Status BlockCall::TakeSums(int64_t part) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank || part >= Parts(peer)) continue;
    RETURN_IF_ERROR(AwaitReceive(*done_[peer][static_cast<size_t>(part)]));
    const ElementRange sums = PartOf(peer, part);
    char* const to = At(out, sums.first);
    const char* const from = mapped_out_[peer] + sums.first * SizeOf(in.dtype);
    const int64_t bytes = sums.count * SizeOf(in.dtype);
    if (out.bytes() >= kLeastStreamed) {
      StreamCopy(to, from, bytes);
    } else {
      CopyBytes(to, from, bytes);
    }
    wire += bytes;
  }
  return absl::OkStatus();
}

}  // namespace partita
