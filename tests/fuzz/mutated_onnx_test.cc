// ONNX models of which some bytes were changed, dropped or doubled, or any one byte was, are read or refused; nothing
// crashes, and nothing is read beyond its end (the sanitizers say so).
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "importer/import_model.h"
#include "ops/registry.h"

namespace partita {
namespace {

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Numbers that sizes, lengths and kinds of fields have, and such as are out of range.
void Change(std::string& bytes, std::mt19937& random) {
  constexpr unsigned char kBytes[] = {0x00, 0x01, 0x02, 0x04, 0x07, 0x08, 0x0a, 0x12, 0x22, 0x7f, 0x80, 0xff};
  const size_t at = random() % bytes.size(), count = 1 + random() % 6;
  switch (random() % 4) {
    case 0:
      bytes[at] = static_cast<char>(kBytes[random() % std::size(kBytes)]);
      break;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 2:
      bytes.erase(at, count);
      break;
    default:
      bytes.insert(at, bytes.substr(random() % bytes.size(), count));
  }
}

class MutatedOnnx : public ::testing::TestWithParam<const char*> {};

TEST_P(MutatedOnnx, IsReadOrRefused) {
  const std::string whole = BytesOf(std::string("tests/importer/onnx/models/") + GetParam() + ".onnx");
  ASSERT_GT(whole.size(), 500u);
  std::mt19937 random(7);
  const std::string path = ::testing::TempDir() + "/mutated.onnx";
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    std::string mutated = whole;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) Change(mutated, random);
    std::ofstream(path, std::ios::binary).write(mutated.data(), static_cast<std::streamsize>(mutated.size()));
    const auto imported = ImportModel(path, Ops(), {.loss = "mse"});
    if (imported.ok()) continue;
    ++refused;
    EXPECT_NE(imported.status().message().find(path), std::string::npos) << imported.status();
  }
  EXPECT_GT(refused, 50);
}

INSTANTIATE_TEST_SUITE_P(Models, MutatedOnnx,
                         ::testing::Values("forms", "windows", "functions", "patches", "decoder", "recurrent"));

class FlippedOnnx : public ::testing::TestWithParam<const char*> {};

TEST_P(FlippedOnnx, IsReadOrRefused) {
  const std::string whole = BytesOf(std::string("tests/importer/onnx/models/") + GetParam() + ".onnx");
  const std::string path = ::testing::TempDir() + "/flipped.onnx";
  const auto imported = [&path](const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return ImportModel(path, Ops(), {.loss = "cross_entropy"});
  };
  const auto unchanged = imported(whole);
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  int read = 0, refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : {0xff, 0x80, 0x01}) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      const auto changed = imported(flipped);
      ++(changed.ok() ? read : refused);
      if (changed.ok()) continue;
      EXPECT_NE(changed.status().message().find(path), std::string::npos) << changed.status();
    }
  }
  EXPECT_GT(read, 200);
  EXPECT_GT(refused, 200);
}

INSTANTIATE_TEST_SUITE_P(Models, FlippedOnnx, ::testing::Values("forms", "local", "scattered"));

}  // namespace
}  // namespace partita
