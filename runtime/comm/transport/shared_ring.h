// Bytes from one process to another through memory that both have mapped.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_RING_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_RING_H_

#include <atomic>
#include <cstdint>
#include <span>

namespace partita {

// One writes, the other one reads; either may end it. All zero: an empty ring. Waiting threads block in the kernel
// (futex). Counters written by the other side are not trusted: wrong values end the ring and cannot cause accesses
// outside of it.
class SharedRing {
 public:
  static constexpr uint32_t kMostBytes = 256 << 10;  // stays in a core's cache between the two copies

  // How much of each ring is used in a world of `ranks`, a power of two: the rings of a rank use 8 MiB at most, or 16
  // KiB each. The rest is never touched, so it takes no memory.
  static uint32_t UsedBytes(int ranks);

  // Blocks until all is in the ring, of which the first `used` bytes are used. False: it has ended.
  bool Write(std::span<const char> from, uint32_t used);

  // Blocks until all of `to` is filled. False: it ended before. `used`: as of the writer.
  bool Read(std::span<char> to, uint32_t used);

  // Waiting calls return; data already written can still be read.
  void End();

 private:
  alignas(64) std::atomic<uint32_t> written_;  // bytes, modulo 2^32
  std::atomic<uint32_t> reader_waits_;
  alignas(64) std::atomic<uint32_t> read_;
  std::atomic<uint32_t> writer_waits_;
  alignas(64) std::atomic<uint32_t> ended_;
  alignas(64) char bytes_[kMostBytes];
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_RING_H_
