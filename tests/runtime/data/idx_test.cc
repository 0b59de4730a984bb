#include "runtime/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/runtime/data/idx_bytes.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Error(const std::string& bytes) {
  const auto array = ParseIdx("f.idx", bytes);
  if (array.ok()) return "accepted";
  EXPECT_EQ(array.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(array.status().message());
}

const std::string kElements = "abcdefghijklmnopqrstuvwx";

TEST(Idx, PlainAndGzip) {
  const std::string plain = IdxBytes({2, 3, 4}, kElements);
  for (const std::string& bytes : {plain, Gzip(plain)}) {
    const auto array = ParseIdx("f", bytes);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->sizes, (std::vector<int64_t>{2, 3, 4}));
    EXPECT_EQ(std::string(array->bytes.begin(), array->bytes.end()), kElements);
  }
}

TEST(Idx, ElementsOfEveryTypeAreTurnedRound) {
  const std::string bytes("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
  const struct {
    char code;
    ElementType type;
    std::vector<uint8_t> turned;
  } cases[] = {
      {0x08, ElementType::kU8, {1, 2, 3, 4, 5, 6, 7, 8}},  {0x09, ElementType::kI8, {1, 2, 3, 4, 5, 6, 7, 8}},
      {0x0B, ElementType::kI16, {2, 1, 4, 3, 6, 5, 8, 7}}, {0x0C, ElementType::kI32, {4, 3, 2, 1, 8, 7, 6, 5}},
      {0x0D, ElementType::kF32, {4, 3, 2, 1, 8, 7, 6, 5}}, {0x0E, ElementType::kF64, {8, 7, 6, 5, 4, 3, 2, 1}}};
  for (const auto& [code, type, turned] : cases) {
    const auto array = ParseIdx("f", IdxBytes({static_cast<uint32_t>(8 / SizeOf(type))}, bytes, code));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->type, type);
    EXPECT_EQ(array->bytes, turned);
  }
}

TEST(Idx, GzipOfSeveralMembersIsTheirConcatenation) {
  const std::string plain = IdxBytes({24}, kElements);
  for (size_t cut = 1; cut < plain.size(); ++cut) {
    const auto array = ParseIdx("f", Gzip(plain.substr(0, cut)) + Gzip(plain.substr(cut)));
    ASSERT_TRUE(array.ok()) << cut << ": " << array.status();
    EXPECT_EQ(std::string(array->bytes.begin(), array->bytes.end()), kElements);
  }
}

// What deflate can make of the bytes allows the sizes, but nobody has images of so many bytes.
TEST(Idx, TheLargestArrayIsSaid) {
  const std::string bytes = Gzip(IdxBytes({1 << 24, 1024}, "")) + std::string(20 << 20, '\0');
  EXPECT_THAT(Error(bytes), HasSubstr("offset 4: found sizes 16777216 x 1024, allowed are at most 8589934592 bytes"));
}

// 64 MiB of zeros in 64 KiB, behind a header that promises four of them.
TEST(Idx, NoMoreIsDecompressedThanTheHeaderPromises) {
  EXPECT_THAT(Error(Gzip(IdxBytes({2, 2}, std::string(64 << 20, '\0')))),
              HasSubstr("offset 16: found more bytes, allowed is the end after sizes 2 x 2"));
  // The other way round: it promises 60 MiB, and there are four bytes.
  EXPECT_THAT(Error(Gzip(IdxBytes({60 << 20}, "abcd")) + std::string(64 << 10, '\0')), HasSubstr("f.idx: "));
}

TEST(Idx, EachFaultHasItsSentence) {
  const struct {
    std::string bytes;
    const char* message;
  } cases[] = {
      {"", "f.idx: offset 0: found the end of the data after 0 of the 4 bytes of the IDX magic number"},
      {std::string("\x01\0\x08\x01", 4), "offset 0: found bytes 0x01 0x00, an IDX file begins with 0x00 0x00"},
      {std::string("\0\x02\x08\x01", 4), "offset 0: found bytes 0x00 0x02"},
      {IdxBytes({24}, kElements, 0x0A), "offset 2: found element type 0x0a, allowed are 0x08 (u8), 0x09 (i8), 0x0b"},
      {IdxBytes({}, ""), "offset 3: found 0 dimensions, allowed are 1 to 8"},
      {IdxBytes({1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"), "offset 3: found 9 dimensions"},
      {IdxBytes({7}, kElements, 0x0D), "offset 4: found sizes 7, the data behind them can be at most 24 bytes"},
      {IdxBytes({2}, kElements, 0x0E), "offset 24: found more bytes, allowed is the end after sizes 2"},
      {IdxBytes({3, 0}, ""), "offset 8: found size 0, allowed is 1 or more"},
      {IdxBytes({2, 3, 4}, kElements).substr(0, 10),
       "offset 8: found the end of the data after 2 of the 4 bytes of a size"},
      {IdxBytes({25}, kElements), "offset 4: found sizes 25, the data behind them can be at most 24 bytes"},
      {IdxBytes({23}, kElements), "offset 31: found more bytes, allowed is the end after sizes 23"},
      {IdxBytes({0xffffffff, 0xffffffff, 0xffffffff}, "x"), "found sizes 4294967295 x 4294967295 x 4294967295"},
      {Gzip(IdxBytes({0x7fffffff, 2}, "x")), "found sizes 2147483647 x 2, the data behind them can be at most"},
      {Gzip(IdxBytes({25}, kElements)), "offset 8: found the end of the data after 24 of the 25 bytes of the elements"},
      {Gzip(IdxBytes({23}, kElements)), "offset 31: found more bytes"},
      {"\x1f\x8b", "the compressed data ends in the middle, after 0 uncompressed bytes"},
      {std::string("\x1f\x8b\x09\0\0\0\0\0\0\0\0", 11), "the compressed data is damaged after 0 uncompressed bytes"},
      {Gzip(IdxBytes({24}, kElements)) + "x", "the compressed data"},
  };
  for (const auto& c : cases) EXPECT_THAT(Error(c.bytes), HasSubstr(c.message));
}

TEST(Idx, EveryTruncationIsRefused) {
  const std::string plain = IdxBytes({2, 3, 4}, kElements);
  for (const std::string& whole : {plain, Gzip(plain)}) {
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_THAT(Error(whole.substr(0, length)), StartsWith("f.idx: ")) << length;
    }
  }
}

// A damaged .gz is caught by its check sum at the latest; header fields that mean nothing to us may change.
TEST(Idx, FlippedBitsNeverChangeTheElements) {
  const std::string whole = Gzip(IdxBytes({2, 3, 4}, kElements));
  int refused = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= 1 << bit % 8;
    const auto array = ParseIdx("f", damaged);
    if (array.ok()) {
      EXPECT_EQ(std::string(array->bytes.begin(), array->bytes.end()), kElements);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(Idx, RandomBytesNeverCrash) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 3 == 1 && bytes.size() > 4) bytes.replace(0, 3, std::string("\0\0\x08", 3));
    if (i % 3 == 2 && bytes.size() > 4) bytes.replace(0, 4, "\x1f\x8b\x08\0", 4);
    const auto array = ParseIdx("f", bytes);
    if (array.ok()) {
      EXPECT_LE(array->bytes.size(), bytes.size());
    }
  }
}

TEST(Idx, MissingFileAndFolderAreNamed) {
  EXPECT_THAT(std::string(ReadIdx("/no/such/file").status().message()), StartsWith("/no/such/file: cannot open"));
  EXPECT_THAT(std::string(ReadIdx("/tmp").status().message()), HasSubstr("found a directory"));
}

}  // namespace
}  // namespace partita
