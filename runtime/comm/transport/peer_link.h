// Blocks and messages between this rank and one other, over a stream: slots (slots.h) and frames (frame.h).
//
// One thread reads and never waits to write, so every sender is read from eventually, and no two ranks wait for each
// other. Another thread writes large blocks; the sending thread writes small ones itself if no block is queued.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_PEER_LINK_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_PEER_LINK_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/admission/handshake.h"
#include "runtime/comm/transport/byte_stream.h"
#include "runtime/comm/transport/frame.h"
#include "runtime/comm/transport/passage.h"
#include "runtime/comm/transport/slots.h"

namespace partita {

// What a rank hears of another, on the link's own thread. Both may call anything of the link but its destructor.
struct PeerEvents {
  // False: there is nothing more to listen to.
  std::function<bool(std::span<const char>)> on_message;
  // Called once, unless on_message has returned false. `flaw`: what the peer did that no rank does; empty: its stream
  // ended.
  std::function<void(const std::string& flaw)> on_end;
};

// Thread-safe.
class PeerLink {
 public:
  PeerLink(std::unique_ptr<ByteStream> stream, ConnectionSeeds seeds);
  ~PeerLink();

  void Start(PeerEvents events);

  // Close, and wait until the link's threads have ended; none of them may call it.
  void Stop();

  // Start, and return soon. A slot names one block between the two ranks while either of them uses it.
  void Send(Passage& passage, uint64_t slot);
  void Receive(Passage& passage, uint64_t slot);

  // Sends at most kMostMessageBytes before any further part of a block. Never blocks.
  void Say(std::span<const char> message);

  // Waits until all that was said is on its way.
  void Flush(std::chrono::milliseconds timeout);

  // Ends the stream. When it returns, no memory of a passage is touched any more, and all have ended.
  void Close();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Kind = FrameHeader::Kind;

  // A frame that is no part of a block.
  struct Word {
    Kind kind;
    uint64_t slot;
    std::vector<char> body;
  };

  bool has_words() const { return next_word_ < words_.size(); }
  void AddWord(Kind kind, uint64_t slot) { words_.push_back({kind, slot, {}}); }
  bool has_work() const { return has_words() || !ready_.empty(); }
  void AddCredit();
  void WakeWriter();
  void WriteHere(Lock& lock);
  void WriteNext(Lock& lock);
  void WriteWord(Lock& lock);
  void WritePart(Lock& lock);
  bool WriteFrame(Lock& lock, FrameHeader header, std::span<const char> body);
  void WriteAll();

  void ReadAll();
  absl::Status ReadFrames(bool& over);
  absl::Status ReadBlock(const FrameHeader& header);
  absl::Status ReadMessage(const FrameHeader& header, bool& over);
  absl::Status ReadBody(const FrameHeader& header, std::span<char> to);
  absl::Status HandleWord(const FrameHeader& header);
  absl::Status EndOfStream() const;

  const std::unique_ptr<ByteStream> stream_;
  PeerEvents events_;
  FrameSeal seal_;   // used by the writing thread
  FrameSeal check_;  // by the reader

  std::mutex mutex_;
  std::condition_variable work_;  // of the writer
  std::condition_variable idle_;  // a frame is through
  Slots slots_;
  PassageQueue ready_;       // to be written
  std::vector<Word> words_;  // the same, before them, from next_word_ on
  size_t next_word_ = 0;
  bool writing_ = false;  // a thread is writing a frame
  bool reading_ = false;  // into the memory of a passage
  bool closed_ = false;
  bool broken_ = false;  // nothing can be written any more
  std::thread reader_, writer_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_PEER_LINK_H_
