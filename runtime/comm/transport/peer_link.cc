#include "runtime/comm/transport/peer_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::span<char> BytesOf(FrameHeader& header) { return {reinterpret_cast<char*>(&header), sizeof(header)}; }

absl::Status Damaged() { return Unavailable("a checksum differs"); }

}  // namespace

PeerLink::PeerLink(std::unique_ptr<ByteStream> stream, ConnectionSeeds seeds)
    : stream_(std::move(stream)),
      seal_(seeds.sent, stream_->may_damage()),
      check_(seeds.received, stream_->may_damage()) {}

PeerLink::~PeerLink() { Stop(); }

void PeerLink::Stop() {
  Close();
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
}

void PeerLink::Start(PeerEvents events) {
  events_ = std::move(events);
  writer_ = std::thread([this] { WriteAll(); });
  reader_ = std::thread([this] { ReadAll(); });
}

void PeerLink::Send(Passage& passage, uint64_t slot) {
  Lock lock(mutex_);
  passage.Begin(slot);
  if (closed_) return passage.End(false);
  switch (slots_.Send(passage)) {
    case Slots::Sending::kNow:
      ready_.Push(passage);
      break;
    case Slots::Sending::kOffer:
      AddWord(Kind::kOffer, slot);
      break;
    case Slots::Sending::kLater:
      return;
  }
  WriteHere(lock);
}

void PeerLink::Receive(Passage& passage, uint64_t slot) {
  Lock lock(mutex_);
  passage.Begin(slot);
  if (closed_) return passage.End(false);
  std::vector<char> early;
  const absl::StatusOr<Slots::Receiving> step = slots_.Receive(passage, early);
  if (!step.ok()) {
    // Sizes are a part of slots' names, so it is the peer's fault: its stream is of no use any more.
    stream_->Close();
    return passage.End(false);
  }
  if (*step == Slots::Receiving::kLater) return;
  if (*step == Slots::Receiving::kHere) {
    AddCredit();
    std::memcpy(passage.data_, early.data(), early.size());
    passage.End(true);
  } else {
    AddWord(Kind::kWant, slot);
  }
  WriteHere(lock);
}

void PeerLink::Say(std::span<const char> message) {
  CHECK(static_cast<int64_t>(message.size()) <= kMostMessageBytes);
  Lock lock(mutex_);
  if (closed_) return;
  words_.push_back({Kind::kMessage, 0, {message.begin(), message.end()}});
  WakeWriter();
}

void PeerLink::Flush(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  idle_.wait_for(lock, timeout, [&] { return closed_ || broken_ || (!has_words() && !writing_); });
}

void PeerLink::Close() {
  Lock lock(mutex_);
  closed_ = true;
  stream_->Close();
  work_.notify_all();
  idle_.notify_all();
  idle_.wait(lock, [&] { return !writing_ && !reading_; });
  for (; !ready_.empty();) ready_.Pop().End(false);
  for (Passage* const passage : slots_.Clear()) passage->End(false);
}

void PeerLink::AddCredit() {
  if (const int64_t bytes = slots_.TakeCredit(); bytes > 0) AddWord(Kind::kCredit, static_cast<uint64_t>(bytes));
}

// By who sends or receives: what is short is written at once, the rest is left to the writer.
void PeerLink::WriteHere(Lock& lock) {
  while (!closed_ && !broken_ && !writing_) {
    if (!has_words() && (ready_.empty() || ready_.front().bytes_ > Slots::kSmallBytes)) break;
    WriteNext(lock);
  }
  WakeWriter();
}

// Who writes looks for more when it has done so.
void PeerLink::WakeWriter() {
  if (has_work() && !writing_) work_.notify_one();
}

void PeerLink::WriteAll() {
  Lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return closed_ || broken_ || (!writing_ && has_work()); });
    if (closed_ || broken_) return;
    WriteNext(lock);
  }
}

void PeerLink::WriteNext(Lock& lock) {
  if (has_words()) {
    WriteWord(lock);
  } else {
    WritePart(lock);
  }
}

void PeerLink::WriteWord(Lock& lock) {
  const Word word = std::move(words_[next_word_++]);
  if (!has_words()) {
    words_.clear();
    next_word_ = 0;
  }
  FrameHeader header;
  header.kind = word.kind;
  header.slot = word.slot;
  WriteFrame(lock, header, word.body);
}

void PeerLink::WritePart(Lock& lock) {
  Passage& passage = ready_.front();
  FrameHeader header;
  header.kind = passage.early_ ? Kind::kEarlyBlock : Kind::kBlock;
  header.slot = passage.slot_;
  header.offset = static_cast<uint64_t>(passage.moved_);
  const int64_t bytes = std::min(kMostFrameBytes, passage.bytes_ - passage.moved_);
  if (!WriteFrame(lock, header, {passage.data_ + passage.moved_, static_cast<size_t>(bytes)})) return;
  passage.moved_ += bytes;
  if (passage.moved_ == passage.bytes_) ready_.Pop().End(true);
}

// Without the lock meanwhile. Nobody else writes then, nor takes anything out of what is ready.
bool PeerLink::WriteFrame(Lock& lock, FrameHeader header, std::span<const char> body) {
  header.bytes = static_cast<uint32_t>(body.size());
  writing_ = true;
  lock.unlock();
  seal_.Seal(header, body);
  const bool written = stream_->Write(BytesOf(header), body);
  lock.lock();
  writing_ = false;
  // The reader hears of the end; what has come until then is heard first.
  if (!written) broken_ = true;
  idle_.notify_all();
  return written;
}

void PeerLink::ReadAll() {
  bool over = false;
  const absl::Status end = OrExhausted("what a rank has sent", [&] { return ReadFrames(over); });
  if (!over) events_.on_end(end.code() == absl::StatusCode::kCancelled ? "" : std::string(end.message()));
}

absl::Status PeerLink::EndOfStream() const {
  const std::string flaw = stream_->flaw();
  return flaw.empty() ? absl::CancelledError("the stream has ended") : absl::UnavailableError(flaw);
}

absl::Status PeerLink::ReadFrames(bool& over) {
  while (!over) {
    FrameHeader header;
    if (!stream_->Read(BytesOf(header))) return EndOfStream();
    if (!check_.HeaderIsWhole(header)) return Damaged();
    switch (header.kind) {
      case Kind::kBlock:
      case Kind::kEarlyBlock:
        RETURN_IF_ERROR(ReadBlock(header));
        break;
      case Kind::kMessage:
        RETURN_IF_ERROR(ReadMessage(header, over));
        break;
      default:
        RETURN_IF_ERROR(HandleWord(header));
    }
  }
  return absl::OkStatus();
}

absl::Status PeerLink::ReadBody(const FrameHeader& header, std::span<char> to) {
  if (!stream_->Read(to)) return EndOfStream();
  return check_.BodyIsWhole(header, to) ? absl::OkStatus() : Damaged();
}

absl::Status PeerLink::ReadBlock(const FrameHeader& header) {
  const bool early = header.kind == Kind::kEarlyBlock;
  const int64_t bytes = header.bytes;
  if (bytes > kMostFrameBytes) return Unavailable("it sends a frame of {} bytes", bytes);
  Passage* passage = nullptr;
  std::vector<char> kept;
  {
    Lock lock(mutex_);
    if (closed_) return EndOfStream();
    ASSIGN_OR_RETURN(passage, slots_.OnBlock(header.slot, header.offset, bytes, early));
    reading_ = passage != nullptr;
  }
  if (passage == nullptr) kept.resize(static_cast<size_t>(bytes));
  char* const to = passage == nullptr ? kept.data() : passage->data_ + header.offset;
  const absl::Status read = ReadBody(header, {to, static_cast<size_t>(bytes)});
  Lock lock(mutex_);
  reading_ = false;
  idle_.notify_all();
  RETURN_IF_ERROR(read);
  if (closed_) return EndOfStream();
  if (passage == nullptr) {
    // Its receiver may have come meanwhile, and waits.
    ASSIGN_OR_RETURN(passage, slots_.OnBlock(header.slot, header.offset, bytes, early));
    if (passage == nullptr) {
      slots_.Keep(header.slot, std::move(kept));
      return absl::OkStatus();
    }
    std::memcpy(passage->data_, kept.data(), kept.size());
  }
  if (slots_.Arrived(*passage, bytes, early)) passage->End(true);
  AddCredit();
  WakeWriter();
  return absl::OkStatus();
}

absl::Status PeerLink::ReadMessage(const FrameHeader& header, bool& over) {
  if (header.bytes > kMostMessageBytes) return Unavailable("it sends a message of {} bytes", header.bytes);
  std::vector<char> message(header.bytes);
  RETURN_IF_ERROR(ReadBody(header, message));
  over = !events_.on_message(message);
  return absl::OkStatus();
}

absl::Status PeerLink::HandleWord(const FrameHeader& header) {
  if (header.bytes != 0) return Unavailable("it sends {} bytes where none belong", header.bytes);
  Lock lock(mutex_);
  if (closed_) return EndOfStream();
  if (header.kind == Kind::kWant) {
    ASSIGN_OR_RETURN(Passage* const passage, slots_.OnWant(header.slot));
    if (passage != nullptr) ready_.Push(*passage);
  } else if (header.kind == Kind::kOffer) {
    ASSIGN_OR_RETURN(const bool wanted, slots_.OnOffer(header.slot));
    if (wanted) AddWord(Kind::kWant, header.slot);
  } else if (header.kind == Kind::kCredit) {
    RETURN_IF_ERROR(slots_.OnCredit(header.slot));
  } else {
    return Unavailable("it sends a frame of kind {}", static_cast<uint32_t>(header.kind));
  }
  WakeWriter();
  return absl::OkStatus();
}

}  // namespace partita
