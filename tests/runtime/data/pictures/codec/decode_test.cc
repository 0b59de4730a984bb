#include "runtime/data/pictures/codec/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/data/pictures/codec/channels.h"
#include "tools/benchmarks/decode/picture_bytes.h"

namespace partita {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Bytes = std::vector<uint8_t>;

std::span<const uint8_t> Span(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

Bytes Decoded(const std::string& bytes, int channels) {
  Picture picture;
  const absl::Status status = DecodePicture("a", Span(bytes), channels, picture);
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return {};
  EXPECT_EQ(picture.channels, channels);
  picture.pixels.resize(static_cast<size_t>(picture.size.pixels() * channels));
  return picture.pixels;
}

std::string Error(const std::string& bytes) {
  Picture picture;
  const absl::Status status = DecodePicture("a", Span(bytes), 3, picture);
  if (status.ok()) return "decoded";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

Bytes Noise(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(Png, ColourIsAsItIsStored) {
  const Bytes pixels = Noise(5 * 7 * 3);
  EXPECT_EQ(Decoded(PngBytes(5, 7, pixels), 3), pixels);
  EXPECT_EQ(Decoded(PngBytes(5, 7, pixels, {.interlaced = true}), 3), pixels);
}

TEST(Png, GreyIsTheLumaOfColour) {
  const Bytes pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
  EXPECT_THAT(Decoded(PngBytes(2, 2, pixels), 1), ElementsAre(76, 150, 29, 9));
  const PngForm grey{.colour_type = PNG_COLOR_TYPE_GRAY};
  EXPECT_THAT(Decoded(PngBytes(1, 2, {3, 200}, grey), 1), ElementsAre(3, 200));
  EXPECT_THAT(Decoded(PngBytes(1, 2, {3, 200}, grey), 3), ElementsAre(3, 3, 3, 200, 200, 200));
}

TEST(Png, EveryDepthBecomesABytesRange) {
  const auto grey = [](int depth) { return PngForm{.colour_type = PNG_COLOR_TYPE_GRAY, .depth = depth}; };
  EXPECT_THAT(Decoded(PngBytes(1, 4, {0b10100000}, grey(1)), 1), ElementsAre(255, 0, 255, 0));
  EXPECT_THAT(Decoded(PngBytes(1, 4, {0b00011011}, grey(2)), 1), ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(Decoded(PngBytes(1, 2, {0x1f}, grey(4)), 1), ElementsAre(17, 255));
  // 16 bits are rounded: 0x0180 is 384 / 257 = 1.49, 0x0182 is 1.502.
  EXPECT_THAT(Decoded(PngBytes(1, 3, {0x01, 0x80, 0x01, 0x82, 0xff, 0xff}, grey(16)), 1), ElementsAre(1, 2, 255));
}

TEST(Png, TransparencyShowsWhite) {
  const PngForm alpha{.colour_type = PNG_COLOR_TYPE_RGB_ALPHA};
  const Bytes pixels = {10, 20, 30, 0, 10, 20, 30, 255, 0, 100, 255, 51};
  EXPECT_THAT(Decoded(PngBytes(1, 3, pixels, alpha), 3), ElementsAre(255, 255, 255, 10, 20, 30, 204, 224, 255));
  const PngForm grey_alpha{.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA};
  EXPECT_THAT(Decoded(PngBytes(1, 2, {0, 51, 0, 255}, grey_alpha), 1), ElementsAre(204, 0));
}

TEST(Png, APaletteBecomesItsColours) {
  PngForm form{.colour_type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {200, 100, 50}}};
  EXPECT_THAT(Decoded(PngBytes(1, 2, {1, 0}, form), 3), ElementsAre(200, 100, 50, 1, 2, 3));
  form.palette_alpha = {0};
  EXPECT_THAT(Decoded(PngBytes(1, 2, {1, 0}, form), 3), ElementsAre(200, 100, 50, 255, 255, 255));
}

TEST(Jpeg, GreyAndColourComeBackNearly) {
  const Bytes grey(16 * 16, 77);
  EXPECT_THAT(Decoded(JpegBytes(16, 16, grey), 1), Each(77));
  EXPECT_THAT(Decoded(JpegBytes(16, 16, grey), 3), Each(77));
  Bytes colour;
  for (int i = 0; i < 9 * 17; ++i) colour.insert(colour.end(), {200, 100, 50});
  for (const bool progressive : {false, true}) {
    const Bytes decoded = Decoded(JpegBytes(9, 17, colour, progressive), 3);
    ASSERT_EQ(decoded.size(), colour.size());
    for (size_t i = 0; i < colour.size(); ++i) EXPECT_NEAR(decoded[i], colour[i], 2);
    EXPECT_THAT(Decoded(JpegBytes(9, 17, colour, progressive), 1), Each(AnyOf(123, 124, 125)));
  }
}

TEST(Jpeg, InksBecomeColours) {
  Bytes inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {255, 128, 0, 200});
  const Bytes decoded = Decoded(JpegBytes(8, 8, inks), 3);
  ASSERT_EQ(decoded.size(), 192u);
  EXPECT_NEAR(decoded[0], 200, 2);
  EXPECT_NEAR(decoded[1], 100, 2);
  EXPECT_NEAR(decoded[2], 0, 2);
}

TEST(Jpeg, OtherNumbersOfComponentsAreRefusedByName) {
  EXPECT_EQ(Error(JpegBytes(8, 8, Bytes(128, 9))),
            "a: found a JPEG file of 2 components, allowed are 1 (grey), 3 (colour) and 4 (CMYK)");
}

// Every beginning of a file is refused, and says which file.
TEST(Decode, WhatEndsEarlyIsDamaged) {
  for (const std::string& whole : {PngBytes(9, 11, Noise(9 * 11 * 3)), JpegBytes(9, 11, Noise(9 * 11 * 3)),
                                   JpegBytes(9, 11, Noise(9 * 11 * 3), true)}) {
    EXPECT_EQ(Error(whole), "decoded");
    for (size_t length = 0; length < whole.size(); ++length) {
      const std::string error = Error(whole.substr(0, length));
      ASSERT_EQ(error.substr(0, 3), "a: ") << length;
    }
  }
}

TEST(Decode, AWrongByteOfAPngIsFound) {
  std::string bytes = PngBytes(9, 11, Noise(9 * 11 * 3));
  bytes[bytes.size() - 40] ^= 1;
  EXPECT_THAT(Error(bytes), HasSubstr("the PNG file is damaged: IDAT"));
}

// Nothing that a file says ends the process or is believed: with sanitizers this looks for worse.
TEST(Decode, DamageIsAnErrorOrAPicture) {
  std::mt19937 random(5);
  for (const std::string& whole : {PngBytes(6, 5, Noise(6 * 5 * 3), {.interlaced = true}), JpegBytes(6, 5, Noise(90)),
                                   JpegBytes(6, 5, Noise(90), true)}) {
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
      Picture picture;
      const absl::Status status = DecodePicture("a", Span(bytes), 1 + static_cast<int>(random() % 2) * 2, picture);
      if (!status.ok()) {
        EXPECT_EQ(status.message().substr(0, 3), "a: ");
      }
    }
  }
}

TEST(Decode, ALargeClaimTakesNoMemory) {
  std::string png = PngBytes(1, 1, {1, 2, 3});
  for (const size_t byte : {16, 20}) png[byte + 1] = '\x7f';  // 8,323,073 x 8,323,073 pixels; the checksum is wrong too
  EXPECT_THAT(Error(png), HasSubstr("allowed are 1 to 268435456 pixels"));
  std::string jpeg = JpegBytes(8, 8, Bytes(64, 9));
  const size_t frame = jpeg.find("\xff\xc0");
  for (const size_t byte : {5, 6, 7, 8}) jpeg[frame + byte] = '\xff';
  EXPECT_EQ(Error(jpeg), "a: found a picture of 65535 x 65535 pixels, allowed are 1 to 268435456 pixels");
}

TEST(Head, TellsKindAndSize) {
  const auto png = ReadPictureHead("a", Span(PngBytes(3, 5, Noise(45)).substr(0, 24)));
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_EQ(png->format, PictureFormat::kPng);
  EXPECT_EQ(png->size, (PictureSize{3, 5}));
  for (const bool progressive : {false, true}) {
    const auto jpeg = ReadPictureHead("a", Span(JpegBytes(3, 5, Noise(45), progressive)));
    ASSERT_TRUE(jpeg.ok()) << jpeg.status();
    EXPECT_EQ(jpeg->format, PictureFormat::kJpeg);
    EXPECT_EQ(jpeg->size, (PictureSize{3, 5}));
  }
  EXPECT_EQ(ReadPictureHead("a", Span(JpegBytes(3, 5, Noise(45)).substr(0, 30)))->size, std::nullopt);
}

TEST(Head, OtherFilesAreCalledWhatTheyAre) {
  EXPECT_EQ(Error(""), "a: found an empty file, allowed are JPEG and PNG files");
  EXPECT_THAT(Error("GIF89a......"), HasSubstr("found a GIF file"));
  EXPECT_THAT(Error("RIFF....WEBPVP8 "), HasSubstr("found a WebP file"));
  EXPECT_THAT(Error("Read me first"), HasSubstr("found something else"));
}

}  // namespace
}  // namespace partita
