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
  static constexpr uint32_t kBytes = 256 << 10;  // stays in a core's cache between the two copies

  // Blocks until all is in the ring. False: it has ended.
  bool Write(std::span<const char> from);

  // Blocks until all of `to` is filled. False: it ended before.
  bool Read(std::span<char> to);

  // Waiting calls return; data already written can still be read.
  void End();

 private:
  alignas(64) std::atomic<uint32_t> written_;  // bytes, modulo 2^32
  std::atomic<uint32_t> reader_waits_;
  alignas(64) std::atomic<uint32_t> read_;
  std::atomic<uint32_t> writer_waits_;
  alignas(64) std::atomic<uint32_t> ended_;
  alignas(64) char bytes_[kBytes];
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_RING_H_
