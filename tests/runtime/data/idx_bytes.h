// Builds the bytes of IDX files for tests.
#ifndef PARTITA_TESTS_RUNTIME_DATA_IDX_BYTES_H_
#define PARTITA_TESTS_RUNTIME_DATA_IDX_BYTES_H_

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace partita {

inline std::string IdxBytes(const std::vector<uint32_t>& sizes, const std::string& elements, char type = 0x08) {
  std::string bytes{0, 0, type, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes + elements;
}

inline std::string Gzip(const std::string& plain) {
  z_stream state = {};
  EXPECT_EQ(deflateInit2(&state, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&state, plain.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  state.avail_in = plain.size();
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = out.size();
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

// A folder of the running test alone, removed at its end.
class TestFolder {
 public:
  TestFolder() : path_(::testing::TempDir() + "/data_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DATA_IDX_BYTES_H_
