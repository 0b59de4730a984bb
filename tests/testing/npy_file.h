// Writes arrays as .npy files for tests.
#ifndef PARTITA_TESTS_TESTING_NPY_FILE_H_
#define PARTITA_TESTS_TESTING_NPY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace partita {

// `type` as NumPy writes it: "<f4".
template <typename T>
void WriteNpy(const std::string& path, const std::string& type, const std::vector<int64_t>& shape,
              const std::vector<T>& data) {
  constexpr size_t kBefore = 10, kAlignment = 64;  // bytes before the header; of the data's place
  std::string sizes;
  for (const int64_t size : shape) sizes += std::to_string(size) + ",";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  header.resize((kBefore + header.size() + kAlignment) / kAlignment * kAlignment - kBefore - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 255) << static_cast<char>(header.size() >> 8)
       << header;
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size() * sizeof(T)));
}

}  // namespace partita

#endif  // PARTITA_TESTS_TESTING_NPY_FILE_H_
