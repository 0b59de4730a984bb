// The header of a .npy file: a Python dictionary of three known keys.
#ifndef PARTITA_RUNTIME_DATA_ARRAYS_NPY_HEADER_H_
#define PARTITA_RUNTIME_DATA_ARRAYS_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// kInvalidArgument: text that is no such dictionary, a key that is unknown, twice there or missing.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text, const std::string& name);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_ARRAYS_NPY_HEADER_H_
