// The checksum is one number, whichever registers made it: ranks on unlike machines compare theirs.
#include "runtime/comm/transport/body_checksum.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>
#include <vector>

namespace partita {
namespace {

class BodyChecksumTest : public testing::Test {
 protected:
  BodyChecksumTest() : bytes_(5000) {
    std::mt19937 random(1);
    for (char& byte : bytes_) byte = static_cast<char>(random());
  }

  // Of any alignment and size: xxhash has forms of their own for up to 16, 128 and 240 bytes, and for ends of blocks.
  void ExpectOnlyOneNumber(uint64_t (*checksum)(std::span<const char>, uint64_t)) const {
    for (size_t size = 0; size + 1 < bytes_.size(); size += size < 300 ? 1 : 37) {
      const std::span<const char> body = std::span(bytes_).subspan(size % 2, size);
      ASSERT_EQ(checksum(body, size), XXH3_64bits_withSeed(body.data(), body.size(), size)) << size << " bytes";
    }
  }

  std::vector<char> bytes_;
};

TEST_F(BodyChecksumTest, IsTheSameAsWithNarrowRegisters) { ExpectOnlyOneNumber(&BodyChecksum); }

#if defined(__x86_64__)
TEST_F(BodyChecksumTest, OfAvx2IsTheSameAsWithNarrowRegisters) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "the processor has no AVX2";
  ExpectOnlyOneNumber(&BodyChecksumAvx2);
}
#endif

}  // namespace
}  // namespace partita
