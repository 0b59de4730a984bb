#include "tests/tools/service/classifier.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/testing/npy_file.h"

namespace partita::service {
namespace {

std::vector<float> RowsOf(int64_t samples) {
  std::vector<float> x(static_cast<size_t>(samples * kFeatures));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 97) * 0.7f);
  return x;
}

void WriteSet(const std::string& folder, int64_t samples) {
  std::filesystem::create_directories(folder);
  const std::vector<float> x = RowsOf(samples);
  std::vector<int32_t> labels(static_cast<size_t>(samples));
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<int32_t>(x[i * kFeatures] > 0) + 2 * static_cast<int32_t>(x[i * kFeatures + 1] > 0);
  }
  WriteNpy(folder + "/x.npy", "<f4", {samples, kFeatures}, x);
  WriteNpy(folder + "/labels.npy", "<i4", {samples}, labels);
}

}  // namespace

std::vector<float> TestRows() { return RowsOf(kTestSamples); }

void WriteData(const std::string& folder) {
  WriteSet(folder + "/train", kSamples);
  WriteSet(folder + "/test", kTestSamples);
}

std::vector<float> ReadNpy(const std::string& path) {
  constexpr size_t kBegin = 10;  // behind the length of the header
  const std::string bytes = ReadBytes(path);
  if (bytes.size() < kBegin) return {};
  uint16_t header = 0;
  std::memcpy(&header, bytes.data() + 8, sizeof(header));
  std::vector<float> values((bytes.size() - kBegin - header) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + kBegin + header, values.size() * sizeof(float));
  return values;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace partita::service
