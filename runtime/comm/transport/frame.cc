#include "runtime/comm/transport/frame.h"

#include <xxhash.h>

#include <cstddef>

namespace partita {
namespace {

uint64_t ChecksumOf(const FrameHeader& header, uint64_t seed) {
  return XXH3_64bits_withSeed(&header, offsetof(FrameHeader, checksum), seed);
}

}  // namespace

uint64_t FrameSeal::BodyChecksum(std::span<const char> body) const {
  return body.empty() || !checks_bodies_ ? 0 : XXH3_64bits_withSeed(body.data(), body.size(), ~SeedOf(frames_));
}

void FrameSeal::Seal(FrameHeader& header, std::span<const char> body) {
  ++frames_;
  header.body_checksum = BodyChecksum(body);
  header.checksum = ChecksumOf(header, SeedOf(frames_));
}

bool FrameSeal::HeaderIsWhole(const FrameHeader& header) {
  return header.checksum == ChecksumOf(header, SeedOf(++frames_));
}

bool FrameSeal::BodyIsWhole(const FrameHeader& header, std::span<const char> body) const {
  return header.body_checksum == BodyChecksum(body);
}

}  // namespace partita
