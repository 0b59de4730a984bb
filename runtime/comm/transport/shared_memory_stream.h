// A stream through shared memory. The connection over which the two met stays open and silent: its end is the end of
// the peer, which could not say so in memory if it was killed.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_STREAM_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_STREAM_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "runtime/comm/transport/byte_stream.h"
#include "runtime/comm/transport/shared_memory.h"

namespace partita {

class SharedMemoryStream : public ByteStream {
 public:
  // `is_maker`: whether this side has made the memory. `ring_bytes`: how much of each ring is used, the same on both
  // sides. `socket`: as of TcpStream.
  SharedMemoryStream(Socket socket, std::unique_ptr<SharedMemory> memory, bool is_maker, uint32_t ring_bytes);
  ~SharedMemoryStream() override;

  bool Write(std::span<const char> head, std::span<const char> body) override;
  bool Read(std::span<char> to) override { return in_.Read(to, ring_bytes_); }
  void Close() override;
  bool may_damage() const override { return false; }

 private:
  const Socket socket_;
  const std::unique_ptr<SharedMemory> memory_;
  SharedRing& in_;
  SharedRing& out_;
  const uint32_t ring_bytes_;
  std::thread watch_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_STREAM_H_
