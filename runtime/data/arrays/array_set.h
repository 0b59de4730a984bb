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

struct ArraySet {
  std::vector<ArrayField> fields;    // that the graph needs, in its order
  std::vector<std::string> ignored;  // names of those that match no input, in the order of the files
};

// `set`: what the files are, for messages ("data.npz, test set"). kInvalidArgument: a field that is given twice, an
// input that no field fills, fields of different numbers of rows, and all that ArrayFile and MakeArrayField refuse.
absl::StatusOr<ArraySet> ReadArraySet(const std::string& set, const std::vector<FieldFile>& files,
                                      const std::vector<WantedField>& wanted);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_SET_H_
