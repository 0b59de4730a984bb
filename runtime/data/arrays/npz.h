// NumPy's files of several arrays: a zip archive with a member KEY.npy for each, stored or deflated.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_NPZ_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_NPZ_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/arrays/array_file.h"

namespace partita {

// Members with other names are skipped. kInvalidArgument: no zip archive, one that is damaged, several of them one
// behind the other (`cat`), a key twice.
// Reading an array checks its sum, and refuses what is encrypted or compressed in another way.
absl::StatusOr<std::unique_ptr<ArrayFile>> OpenNpz(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_NPZ_H_
