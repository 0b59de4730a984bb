// The element types of a safetensors file: more than we compute with, because a file is judged as a whole.
#ifndef PARTITA_RUNTIME_CHECKPOINT_STORED_TYPE_H_
#define PARTITA_RUNTIME_CHECKPOINT_STORED_TYPE_H_

#include <cstdint>
#include <string_view>

#include "graph/value/dtype.h"

namespace partita {

// One of the static table's entries: compared by address. A later one has the same or a larger alignment; the format
// wants tensors in the reverse order, so that each lies aligned.
struct StoredType {
  std::string_view name;  // as in the file: "F32"
  int64_t bits;           // of one element; 4 and 6 for the packed types
};

// The type called `name`; null if the format has none such.
const StoredType* FindStoredType(std::string_view name);

// What we write a DType as: F32, F64, I32, U8, BF16.
const StoredType* StoredTypeOf(DType dtype);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_STORED_TYPE_H_
