// An array as a field of a batch: of the type that the graph takes, every value checked.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FIELD_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FIELD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/array.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/byte_scale.h"

namespace partita {

struct ArrayField {
  Field field;
  int64_t rows = 0;
  std::vector<uint8_t> bytes;           // elements of the field's type; bytes where there is a table
  std::vector<double> table;            // what byte b at place c of the last dimension becomes: [c mod (size / 256)][b]
  std::string array = {};               // that it is of, for messages
  bool divides = false;                 // as WantedField says
  bool counts = false;                  // it weighs or divides: rows that only fill a batch up are 0
  std::optional<int64_t> ignored = {};  // as WantedField says
  ByteScale scale = {};                 // that the table is of; not given where nothing was said of it

  bool scaled() const { return !table.empty(); }
};

// `name`: of the array, for messages. Floating fields take floating numbers, by `scale` u8, and other integers that
// they hold exactly; i32 and u8 fields take integers. Truth values are the integers 0 and 1. Rows have the field's
// sizes, but for dimensions of size 1; a field of flat rows takes any sizes of as many elements. kInvalidArgument names
// the array, the field and the first value that cannot be: one that is not finite, does not fit the type, or is no
// label of the classes.
absl::StatusOr<ArrayField> MakeArrayField(const std::string& name, Array array, const WantedField& wanted,
                                          const ByteScale& scale);

// What the bytes of a field that has a table become; kInvalidArgument: a scale that cannot be of the field.
absl::Status ScaleBytes(const ByteScale& scale, ArrayField& field);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_ARRAY_FIELD_H_
