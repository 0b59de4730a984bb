// Bytes in order between two processes, without any meaning.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_BYTE_STREAM_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_BYTE_STREAM_H_

#include <cstddef>
#include <span>
#include <string>

namespace partita {

// One thread reads, another one may write at the same time, any may close.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Blocks until all has been taken over, one part behind the other. False: the stream has ended.
  virtual bool Write(std::span<const char> head, std::span<const char> body) = 0;

  // Blocks until all of `to` is filled. False: the stream ended before.
  virtual bool Read(std::span<char> to) = 0;

  // Ends both directions at once; waiting calls return.
  virtual void Close() = 0;

  // Whether bits may change on the way, unnoticed by the stream.
  virtual bool may_damage() const { return true; }

  // For the reader, after Read returned false: the error in the received data; empty: the stream just ended.
  virtual std::string flaw() const { return ""; }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_BYTE_STREAM_H_
