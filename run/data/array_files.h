// Finds the files of the named arrays that --data names.
#ifndef PARTITA_RUN_DATA_ARRAY_FILES_H_
#define PARTITA_RUN_DATA_ARRAY_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/arrays/array_set.h"

namespace partita {

// The fields of a set; none if there is no such set; an error if its folder is there but cannot be read, which concerns
// only a command that needs the set.
using FoundSet = absl::StatusOr<std::optional<std::vector<FieldFile>>>;

struct ArrayFiles {
  FoundSet train = std::nullopt, test = std::nullopt;
};

// Whether `path` is a file, or a folder with train/NAME.npy or test/NAME.npy.
bool HoldsArrays(const std::string& path);

// Of a file (.npz, safetensors) the arrays train/NAME and test/NAME, of a folder the files of these names that end in
// .npy or .csv, of a description (.pbtxt, .textproto, .pb) what it says (proto/data.proto). Arrays of neither set
// are ignored with a line in the log. kInvalidArgument: no array of either, a description that cannot be.
absl::StatusOr<ArrayFiles> FindArrayFiles(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_ARRAY_FILES_H_
