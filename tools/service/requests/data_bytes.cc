#include "tools/service/requests/data_bytes.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <system_error>

#include "run/data/array_files.h"
#include "run/data/picture_data.h"
#include "run/data/text_data.h"
#include "runtime/base/file_name.h"
#include "runtime/data/image_dataset.h"

namespace partita::service {
namespace {

namespace fs = std::filesystem;

// What a .gz file says at its end, modulo 2^32.
int64_t UnpackedBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, 4> bytes{};
  file.seekg(-static_cast<std::streamoff>(bytes.size()), std::ios::end);
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (!file) return 0;
  return std::accumulate(bytes.rbegin(), bytes.rend(), int64_t{0},
                         [](int64_t sum, unsigned char byte) { return sum << 8 | byte; });
}

int64_t BytesOf(const std::string& path) {
  if (HasEnding(path, ".gz")) return UnpackedBytes(path);
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// Of the files of a folder that `counts` says yes to.
template <typename Counts>
int64_t BytesIn(const std::string& folder, const Counts& counts) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator next(folder, error); !error && next != fs::directory_iterator(); next.increment(error)) {
    const std::string name = next->path().filename().native();
    if (counts(name)) bytes += BytesOf(next->path().native());
  }
  return bytes;
}

// Of files with several arrays, which are read once.
int64_t BytesOfArrays(const std::string& path) {
  const absl::StatusOr<ArrayFiles> found = FindArrayFiles(path);
  if (!found.ok()) return 0;
  std::set<std::string> files;
  for (const FoundSet* const fields : {&found->train, &found->test}) {
    if (!fields->ok() || !**fields) continue;
    for (const FieldFile& field : ***fields) files.insert(field.path);
  }
  return std::accumulate(files.begin(), files.end(), int64_t{0},
                         [](int64_t sum, const std::string& file) { return sum + BytesOf(file); });
}

}  // namespace

int64_t DataBytes(const DataSpec& data) {
  if (data.mock_data()) return 0;
  const std::string path = data.has_data() ? data.data() : kFashionMnistFolder;
  if (HoldsText(path)) {  // a word is a number of four bytes, and at least two bytes of a text
    return 2 * BytesIn(path, [](const std::string& name) {
             return name != "vocabulary.txt" && (HasEnding(name, ".txt") || HasEnding(name, ".ids"));
           });
  }
  if (HasEnding(path, ".tar")) return 0;
  if (HoldsArrays(path)) return BytesOfArrays(path);
  if (HoldsPictures(path)) return 0;
  return BytesIn(path, [](const std::string& name) { return name.find("-idx") != std::string::npos; });
}

}  // namespace partita::service
