// A file of one array or of several with keys: .npy, .npz, safetensors, IDX (plain or gzip'd), identified by its first
// bytes; or labels in CSV, by its name.
//
// Errors are kInvalidArgument and name the file and the array; kResourceExhausted: there is not so much memory.
// Thread-compatible.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FILE_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/array.h"

namespace partita {

class ArrayFile {
 public:
  static absl::StatusOr<std::unique_ptr<ArrayFile>> Open(const std::string& path);
  virtual ~ArrayFile() = default;

  // Of the arrays, in the order of the file; none: it has one array, without a key.
  virtual const std::vector<std::string>& keys() const = 0;

  // The array of one of the keys; of a file without keys that of "".
  virtual absl::StatusOr<Array> Read(const std::string& key) = 0;
};

// "FILE: array 'x'", or "FILE" where it has no keys: what messages call it.
std::string NameOf(const std::string& path, const std::string& key);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FILE_H_
