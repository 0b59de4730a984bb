// The elements of a stored tensor, whatever file has them and whatever their type.
#ifndef PARTITA_IMPORTER_PROGRAM_STORED_ELEMENTS_H_
#define PARTITA_IMPORTER_PROGRAM_STORED_ELEMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/program/exported_program.h"

namespace partita::torch_export {

// f16, bf16, f32 and f64.
bool IsFloat(ScalarType type);

// All bytes of the tensor's storage. `path`: the archive that it is a member of. kInvalidArgument: a damaged archive,
// or a file that became shorter.
absl::StatusOr<std::string> StorageOf(const std::string& path, const std::string& name, const StoredWeight& weight);

// One element of a storage, at that place in elements. kInvalidArgument: the type is not read.
using ReadElement = double (*)(const std::string& storage, int64_t at);
absl::StatusOr<ReadElement> ReaderOf(ScalarType type);

// The elements of a storage that holds the tensor alone, in order.
absl::StatusOr<std::vector<double>> ElementsOf(const std::string& path, const std::string& name,
                                               const StoredWeight& weight);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_PROGRAM_STORED_ELEMENTS_H_
