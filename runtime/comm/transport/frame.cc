#include "runtime/comm/transport/frame.h"

#include <xxhash.h>

#include <cstddef>

#include "runtime/comm/transport/body_checksum.h"

namespace partita {
namespace {

uint64_t ChecksumOf(const FrameHeader& header, uint64_t seed) {
  return XXH3_64bits_withSeed(&header, offsetof(FrameHeader, checksum), seed);
}

}  // namespace

uint64_t FrameSeal::ChecksumOfBody(std::span<const char> body) const {
  return body.empty() || !checks_bodies_ ? 0 : BodyChecksum(body, ~SeedOf(frames_));
}

void FrameSeal::Seal(FrameHeader& header, std::span<const char> body) {
  ++frames_;
  header.body_checksum = ChecksumOfBody(body);
  header.checksum = ChecksumOf(header, SeedOf(frames_));
}

bool FrameSeal::HeaderIsWhole(const FrameHeader& header) {
  return header.checksum == ChecksumOf(header, SeedOf(++frames_));
}

bool FrameSeal::BodyIsWhole(const FrameHeader& header, std::span<const char> body) const {
  return header.body_checksum == ChecksumOfBody(body);
}

}  // namespace partita
