// Builds the bytes of .npy and .npz files for tests.
#ifndef PARTITA_TESTS_RUNTIME_DATA_ARRAYS_ARRAY_BYTES_H_
#define PARTITA_TESTS_RUNTIME_DATA_ARRAYS_ARRAY_BYTES_H_

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace partita {

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string NpyOfHeader(const std::string& header, const std::string& elements, char version = 1) {
  std::string bytes = "\x93NUMPY" + std::string{version, 0};
  const size_t length_bytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + elements;
}

// `sizes` as Python has them: "3, 4".
inline std::string Npy(const std::string& descr, const std::string& sizes, const std::string& elements,
                       char version = 1) {
  return NpyOfHeader(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}\n", descr, sizes),
                     elements, version);
}

// `level`: of deflate; 0: stored.
inline void WriteZip(const std::string& path, const std::map<std::string, std::string>& members, int level) {
  const zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : members) {
    const int method = level == 0 ? 0 : Z_DEFLATED;
    ASSERT_EQ(zipOpenNewFileInZip64(archive, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, method, level, 1),
              ZIP_OK);
    ASSERT_EQ(zipWriteInFileInZip(archive, bytes.data(), static_cast<unsigned>(bytes.size())), ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(archive), ZIP_OK);
  }
  ASSERT_EQ(zipClose(archive, nullptr), ZIP_OK);
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DATA_ARRAYS_ARRAY_BYTES_H_
