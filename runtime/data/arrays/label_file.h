// Labels of samples that may have several, from a table in CSV: an array of 0 and 1, a column for each class.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_LABEL_FILE_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_LABEL_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/array.h"

namespace partita {

// The classes are the lines of classes.txt beside the file, or else in the folder above, and are the columns in that
// order. The first line of the table is a header:
//   - of one column, any name: each row lists names of classes with ';' between them; an empty row has none
//   - of the names of the classes, in any order: each row has 0 or 1 for each
// Values may be in double quotes. kInvalidArgument: no classes; a name that is no class, is twice in a row or header,
// or is missing in the header; a value other than 0 and 1; a row of another length; no rows.
absl::StatusOr<Array> ReadLabels(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_LABEL_FILE_H_
