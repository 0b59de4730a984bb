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

// A TIFF directory whose only entry is the orientation.
std::string Exif(int orientation, bool little) {
  const auto number = [&](int64_t value, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> 8 * (little ? i : count - 1 - i));
    return bytes;
  };
  return (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) + number(0x0112, 2) + number(3, 2) +
         number(1, 4) + number(orientation, 2) + number(0, 6);
}

std::string WithExif(const std::string& file, const std::string& exif) {
  const bool png = file.starts_with("\x89PNG");
  const size_t at = png ? 33 : 2;  // behind IHDR, or the first marker
  std::string segment;
  if (png) {
    // Nobody looks at the checksum of a chunk that holds no pixels.
    segment = std::string("\0\0\0", 3) + static_cast<char>(exif.size()) + "eXIf" + exif + "abcd";
  } else {
    const size_t length = exif.size() + 8;
    segment = "\xff\xe1" + std::string{static_cast<char>(length >> 8), static_cast<char>(length)} +
              std::string("Exif\0\0", 6) + exif;
  }
  return file.substr(0, at) + segment + file.substr(at);
}

struct Shown {
  PictureSize size;
  Bytes pixels;
};

Shown ShownOf(const std::string& bytes) {
  Picture picture;
  const absl::Status status = DecodePicture("a", Span(bytes), 1, picture);
  EXPECT_TRUE(status.ok()) << status;
  picture.pixels.resize(static_cast<size_t>(picture.size.pixels()));
  return {picture.size, picture.pixels};
}

// The letter F as a camera stores it for each orientation: all are shown upright.
TEST(Orientation, EveryPictureIsShownUpright) {
  const std::vector<std::string> stored[] = {
      {"####", "#...", "##..", "#...", "#..."}, {"####", "...#", "..##", "...#", "...#"},
      {"...#", "...#", "..##", "...#", "####"}, {"#...", "#...", "##..", "#...", "####"},
      {"#####", "#.#..", "#....", "#...."},     {"#....", "#....", "#.#..", "#####"},
      {"....#", "....#", "..#.#", "#####"},     {"#####", "..#.#", "....#", "....#"}};
  const Bytes upright = {0, 0, 0, 0, 0, 255, 255, 255, 0, 0, 255, 255, 0, 255, 255, 255, 0, 255, 255, 255};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::vector<std::string>& rows = stored[orientation - 1];
    Bytes small, large;  // each dot is a block of 8 x 8, which JPEG keeps exactly
    for (size_t y = 0; y < 8 * rows.size(); ++y) {
      for (size_t x = 0; x < 8 * rows[0].size(); ++x) {
        const uint8_t grey = rows[y / 8][x / 8] == '#' ? 0 : 255;
        large.push_back(grey);
        if (y % 8 == 0 && x % 8 == 0) small.push_back(grey);
      }
    }
    const auto height = static_cast<uint32_t>(rows.size()), width = static_cast<uint32_t>(rows[0].size());
    for (const bool little : {false, true}) {
      const std::string exif = Exif(orientation, little);
      for (const bool interlaced : {false, true}) {
        const PngForm form{.colour_type = PNG_COLOR_TYPE_GRAY, .interlaced = interlaced};
        const Shown png = ShownOf(WithExif(PngBytes(height, width, small, form), exif));
        EXPECT_EQ(png.size, (PictureSize{5, 4})) << orientation;
        EXPECT_EQ(png.pixels, upright) << orientation;
      }
      for (const bool progressive : {false, true}) {
        const Shown jpeg = ShownOf(WithExif(JpegBytes(8 * height, 8 * width, large, progressive), exif));
        ASSERT_EQ(jpeg.size, (PictureSize{40, 32})) << orientation;
        for (int i = 0; i < 20; ++i) {
          const int middle = (8 * (i / 4) + 4) * 32 + 8 * (i % 4) + 4;
          EXPECT_NEAR(jpeg.pixels[static_cast<size_t>(middle)], upright[static_cast<size_t>(i)], 8) << orientation;
        }
      }
    }
  }
}

// What cannot be read notes nothing; no length that Exif claims is believed.
TEST(Orientation, HostileExifIsAsNone) {
  const Bytes pixels = Noise(6);
  const PngForm grey{.colour_type = PNG_COLOR_TYPE_GRAY};
  const std::string right = Exif(6, true);
  std::vector<std::string> cases = {"", "II", "MM*", Exif(0, true), Exif(9, false)};
  for (size_t length = 0; length + 8 < right.size(); ++length) cases.push_back(right.substr(0, length));
  for (const size_t byte : {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13}) {  // mark, directory, tag, type
    std::string wrong = right;
    wrong[byte] = '\xff';
    cases.push_back(wrong);
  }
  for (const std::string& exif : cases) {
    const Shown shown = ShownOf(WithExif(PngBytes(2, 3, pixels, grey), exif));
    EXPECT_EQ(shown.size, (PictureSize{2, 3}));
    EXPECT_EQ(shown.pixels, pixels);
    EXPECT_EQ(ShownOf(WithExif(JpegBytes(2, 3, pixels), exif)).size, (PictureSize{2, 3}));
  }
}

std::string ErrorWithin(const std::string& bytes, int64_t budget) {
  Picture picture;
  const absl::Status status = DecodePicture("a", Span(bytes), 3, picture, budget);
  return status.ok() ? "decoded" : std::string(status.message());
}

// The least budget with which each decodes is what it holds: the file, 3 bytes a pixel, and what the decoder keeps.
TEST(Budget, IsOfAllThatDecodingHolds) {
  const Bytes pixels(64 * 64 * 3, 9);
  const int64_t shown = 64 * 64 * 3;
  const struct {
    std::string bytes;
    int64_t held;
  } cases[] = {{PngBytes(64, 64, pixels), shown},
               {PngBytes(64, 64, pixels, {.interlaced = true}), 2 * shown},
               {JpegBytes(64, 64, pixels), shown},
               {JpegBytes(64, 64, pixels, true), shown + 2 * shown}};
  for (const auto& [bytes, held] : cases) {
    const int64_t needed = held + static_cast<int64_t>(bytes.size());
    const bool subsampled = bytes.starts_with("\xff\xd8") && held > shown;  // its coefficients are fewer then
    EXPECT_EQ(ErrorWithin(bytes, needed), "decoded");
    if (!subsampled) {
      EXPECT_THAT(ErrorWithin(bytes, needed - 1),
                  HasSubstr("a: found a picture of 64 x 64 pixels, which takes 1 MiB to "
                            "decode; expected at most 0 MiB"));
    } else {
      EXPECT_EQ(ErrorWithin(bytes, shown + shown / 2), ErrorWithin(bytes, 1));
    }
  }
}

// A header alone decides: nothing is decoded, however few bytes the file has.
TEST(Budget, RefusesTheLargestPictures) {
  for (const bool progressive : {false, true}) {
    std::string jpeg = JpegBytes(8, 8, Bytes(192, 9), progressive);
    const size_t frame = jpeg.find(progressive ? "\xff\xc2" : "\xff\xc0");
    for (const size_t byte : {5, 7}) jpeg.replace(frame + byte, 2, "\x3f\xff");
    EXPECT_THAT(Error(jpeg), HasSubstr("a: found a picture of 16383 x 16383 pixels, which takes "));
    EXPECT_THAT(Error(jpeg), HasSubstr("expected at most 256 MiB (scale it down, or raise --decode-memory)"));
  }
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
  EXPECT_THAT(Error("GIF89a......"), HasSubstr("found a GIF picture"));
  EXPECT_THAT(Error("RIFF....WEBPVP8 "), HasSubstr("found a WebP picture"));
  EXPECT_THAT(Error("Read me first"), HasSubstr("found text, allowed are"));
}

}  // namespace
}  // namespace partita
