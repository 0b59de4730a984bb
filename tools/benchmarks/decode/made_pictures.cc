#include "tools/benchmarks/decode/made_pictures.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/decode/picture_bytes.h"

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

}  // namespace

absl::Status MakePictures(const std::string& folder, const std::string& format, int count) {
  for (const std::string name : {"a", "b"}) {
    std::error_code error;
    std::filesystem::create_directories(folder + "/" + name, error);
    if (error) return InvalidArgument("{}: cannot make the folder: {}", folder, error.message());
    for (int i = 0; i < count; ++i) {
      const std::vector<uint8_t> pixels = Pixels(static_cast<uint64_t>(name == "a" ? i : count + i));
      const std::string bytes = format == "jpeg" ? JpegBytes(kHeight, kWidth, pixels, /*progressive=*/false, kQuality)
                                                 : PngBytes(kHeight, kWidth, pixels);
      RETURN_IF_ERROR(WriteFileAtomically(fmt::format("{}/{}/{}.{}", folder, name, i, format), bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace partita
