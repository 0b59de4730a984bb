#include "tools/benchmarks/decode/made_pictures.h"

#include <png.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

// After <cstdio>, which it needs.
#include <jpeglib.h>

#include "runtime/base/files.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr uint32_t kHeight = 375, kWidth = 500;
constexpr int kQuality = 90;

std::vector<uint8_t> Pixels(uint64_t number) {
  const uint64_t key = PhiloxKey(number, "made pictures");
  std::vector<uint8_t> pixels;
  for (uint32_t y = 0; y < kHeight; ++y) {
    for (uint32_t x = 0; x < kWidth; ++x) {
      const PhiloxBlock noise = RandomBlock(key, y, x);
      const double waves[] = {std::sin(x / 17.0 + y / 31.0), std::cos(x / 7.0 - y / 13.0),
                              std::sin((x + 2.0 * y) / 90)};
      for (int c = 0; c < 3; ++c) {
        pixels.push_back(static_cast<uint8_t>(128 + 100 * waves[c] + 20 * ToUniform(noise.lane[c])));
      }
    }
  }
  return pixels;
}

std::string Jpeg(std::vector<uint8_t> pixels) {
  jpeg_compress_struct state = {};
  jpeg_error_mgr errors = {};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &memory, &size);
  state.image_height = kHeight;
  state.image_width = kWidth;
  state.input_components = 3;
  state.in_color_space = JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, kQuality, TRUE);
  jpeg_start_compress(&state, TRUE);
  for (uint32_t y = 0; y < kHeight; ++y) {
    JSAMPROW row = pixels.data() + y * kWidth * 3;
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  std::free(memory);
  return bytes;
}

absl::StatusOr<std::string> Png(const std::vector<uint8_t>& pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = kHeight;
  image.width = kWidth;
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr)) {
    return Internal("libpng: {}", image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

absl::Status MakePictures(const std::string& folder, const std::string& format, int count) {
  for (const std::string name : {"a", "b"}) {
    std::error_code error;
    std::filesystem::create_directories(folder + "/" + name, error);
    if (error) return InvalidArgument("{}: cannot make the folder: {}", folder, error.message());
    for (int i = 0; i < count; ++i) {
      const std::vector<uint8_t> pixels = Pixels(static_cast<uint64_t>(name == "a" ? i : count + i));
      std::string bytes;
      if (format == "jpeg") {
        bytes = Jpeg(pixels);
      } else {
        ASSIGN_OR_RETURN(bytes, Png(pixels));
      }
      RETURN_IF_ERROR(WriteFileAtomically(fmt::format("{}/{}/{}.{}", folder, name, i, format), bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace partita
