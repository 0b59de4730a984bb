// NumPy's format for one array, versions 1.0 and 2.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
//
//   "\x93NUMPY", major, minor | the header's length, 2 bytes (1.0) or 4 (2.0) | the header | the elements
//
// The header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Truth values, integers
// and floating numbers of every size up to 8 bytes are read, in either byte order, in C or Fortran order; bf16 has the
// descr '<V2' (ml_dtypes). Every other array is kInvalidArgument, as in runtime/data/idx.h.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_NPY_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/array.h"
#include "runtime/data/byte_stream.h"

namespace partita {

inline constexpr char kNpyMagic[] = "\x93NUMPY";

// The array that is the whole of `stream`; `name` is for messages.
absl::StatusOr<Array> ReadNpy(ByteStream& stream, const std::string& name);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_NPY_H_
