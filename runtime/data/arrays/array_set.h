// The fields of a set from the files that hold them.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_SET_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/arrays/array_field.h"
#include "runtime/data/batch_source.h"

namespace partita {

// Where a field lies. A file of several arrays has it under `key`; empty: under the field's name.
struct FieldFile {
  std::string field;
  std::string path;
  std::string key;
  ByteScale scale;
};

// What the graph needs of the files, in its order. `set`: what they are, for messages ("data.npz, test set").
// kInvalidArgument: a field that matches no input (the nearest is named) or is given twice, an input that no field
// fills, fields of different numbers of rows, and all that ArrayFile and MakeArrayField refuse.
absl::StatusOr<std::vector<ArrayField>> ReadArraySet(const std::string& set, const std::vector<FieldFile>& files,
                                                     const std::vector<WantedField>& wanted);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_SET_H_
