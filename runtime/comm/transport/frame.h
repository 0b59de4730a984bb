// The format of a stream between two ranks: frames of a header and at most kMostFrameBytes.
//
// Every frame is numbered on both sides, and number and a seed that only the two ranks know go into its checksums
// (XXH3-64): bits that changed on the way, and frames that are lost, doubled or not of this stream, are found before
// their content is used. It does not protect from an attacker who can change the traffic.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_FRAME_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_FRAME_H_

#include <cstdint>
#include <span>
#include <type_traits>

namespace partita {

inline constexpr int64_t kMostFrameBytes = 256 << 10;  // stays in a core's cache between the copy and the checksum
inline constexpr int64_t kMostMessageBytes = 4 << 10;  // of a frame that is not part of a block

struct FrameHeader {
  enum class Kind : uint32_t {
    kBlock = 1,   // a part of a block that was asked for
    kEarlyBlock,  // a whole small one that was not
    kWant,        // the sender has memory for a block: it may come
    kOffer,       // the sender has a small block, but may send nothing early now
    kCredit,      // this number of bytes (slot) of early blocks reached their buffers
    kMessage,     // of the users of the mesh
  };

  Kind kind = Kind::kBlock;
  uint32_t bytes = 0;   // that follow
  uint64_t slot = 0;    // names the block
  uint64_t offset = 0;  // of the bytes in the block
  uint64_t body_checksum = 0;
  uint64_t checksum = 0;  // of the fields above
};
static_assert(sizeof(FrameHeader) == 40 && std::is_trivially_copyable_v<FrameHeader>);

// One way of a stream: seals frames in the order in which they are written, or checks them in the order in which they
// come.
class FrameSeal {
 public:
  // `checks_bodies`: else only headers have a checksum.
  FrameSeal(uint64_t seed, bool checks_bodies) : seed_(seed), checks_bodies_(checks_bodies) {}

  void Seal(FrameHeader& header, std::span<const char> body);

  // First the header, before any of it is used; then its body.
  bool HeaderIsWhole(const FrameHeader& header);
  bool BodyIsWhole(const FrameHeader& header, std::span<const char> body) const;

 private:
  uint64_t ChecksumOfBody(std::span<const char> body) const;
  uint64_t SeedOf(int64_t frame) const { return seed_ + static_cast<uint64_t>(frame) * 0x9e3779b97f4a7c15; }

  const uint64_t seed_;
  const bool checks_bodies_;
  int64_t frames_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_FRAME_H_
