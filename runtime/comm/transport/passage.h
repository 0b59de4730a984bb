// A block on its way between this rank and another.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_PASSAGE_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_PASSAGE_H_

#include <atomic>
#include <cstdint>

namespace partita {

// Made once, and sent or received as often as its owner likes. From PeerMesh::Send or PeerMesh::Receive until it has
// ended it and its memory stay where they are.
class Passage {
 public:
  // `rank`: the destination or source in the world. `data`: only read if the block is sent. `early`: equal on both
  // sides; a small block may be sent before it is requested, so that it was sent does not show that the peer wants it.
  Passage(int rank, void* data, int64_t bytes, bool early)
      : rank_(rank), data_(static_cast<char*>(data)), bytes_(bytes), may_be_early_(early) {}

  int rank() const { return rank_; }
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  // Waits until it has ended. False: the connection ended, or the mesh was closed.
  bool Await() {
    state_.wait(kUnderWay, std::memory_order_acquire);
    return state_.load(std::memory_order_acquire) == kDone;
  }

 private:
  friend class PeerLink;
  friend class Slots;
  friend class PassageQueue;
  enum State : int { kIdle, kUnderWay, kDone, kFailed };

  void Begin(uint64_t slot) {
    slot_ = slot;
    moved_ = 0;
    early_ = false;
    state_.store(kUnderWay, std::memory_order_relaxed);
  }

  // The owner may end its life as soon as it sees the state: nothing of it may be touched afterwards.
  void End(bool done) {
    state_.store(done ? kDone : kFailed, std::memory_order_release);
    state_.notify_all();
  }

  const int rank_;
  char* const data_;
  const int64_t bytes_;
  const bool may_be_early_;

  std::atomic<int> state_{kIdle};
  uint64_t slot_ = 0;
  int64_t moved_ = 0;   // bytes
  bool early_ = false;  // goes, or went, before it was asked for
  Passage* next_ = nullptr;
};

// First in, first out; of passages that it does not own.
class PassageQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  Passage& front() const { return *first_; }

  void Push(Passage& passage) {
    passage.next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = &passage;
    last_ = &passage;
  }

  Passage& Pop() {
    Passage& passage = *first_;
    first_ = passage.next_;
    return passage;
  }

 private:
  Passage* first_ = nullptr;
  Passage* last_ = nullptr;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_PASSAGE_H_
