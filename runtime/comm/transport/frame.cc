#include "runtime/comm/transport/frame.h"

#include <xxhash.h>

#include <cstddef>

namespace partita {
namespace {

uint64_t ChecksumOf(const FrameHeader& header, uint64_t seed) {
  return XXH3_64bits_withSeed(&header, offsetof(FrameHeader, checksum), seed);
}

uint64_t ChecksumOf(std::span<const char> body, uint64_t seed) {
  return body.empty() ? 0 : XXH3_64bits_withSeed(body.data(), body.size(), ~seed);
}

}  // namespace

void FrameSeal::Seal(FrameHeader& header, std::span<const char> body) {
  const uint64_t seed = SeedOf(++frames_);
  header.body_checksum = ChecksumOf(body, seed);
  header.checksum = ChecksumOf(header, seed);
}

bool FrameSeal::HeaderIsWhole(const FrameHeader& header) {
  return header.checksum == ChecksumOf(header, SeedOf(++frames_));
}

bool FrameSeal::BodyIsWhole(const FrameHeader& header, std::span<const char> body) const {
  return header.body_checksum == ChecksumOf(body, SeedOf(frames_));
}

}  // namespace partita
