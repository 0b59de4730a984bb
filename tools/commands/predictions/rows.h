// The rows of a predicted value as numbers, whatever its element type.
#ifndef PARTITA_TOOLS_COMMANDS_PREDICTIONS_ROWS_H_
#define PARTITA_TOOLS_COMMANDS_PREDICTIONS_ROWS_H_

#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/api/rank/gather.h"
#include "runtime/base/status.h"

namespace partita {

// kInvalidArgument: the value is not f32, f64 or i32.
inline absl::Status CheckWritable(const HostTensor& tensor, const std::string& name) {
  if (tensor.dtype == DType::kF32 || tensor.dtype == DType::kF64 || tensor.dtype == DType::kI32) {
    return absl::OkStatus();
  }
  return InvalidArgument("value '{}' is {}; f32, f64 and i32 can be written", name, Name(tensor.dtype));
}

inline int64_t RowSize(const HostTensor& tensor) {
  return tensor.shape[0] == 0 ? 0 : Elements(tensor.shape) / tensor.shape[0];
}

template <typename T>
std::vector<double> RowOf(const HostTensor& tensor, int64_t row) {
  std::vector<T> values(static_cast<size_t>(RowSize(tensor)));
  const size_t bytes = values.size() * sizeof(T);
  std::memcpy(values.data(), tensor.bytes.data() + static_cast<size_t>(row) * bytes, bytes);
  return {values.begin(), values.end()};
}

// Of a tensor that CheckWritable accepts.
inline std::vector<double> NumbersOfRow(const HostTensor& tensor, int64_t row) {
  if (tensor.dtype == DType::kF32) return RowOf<float>(tensor, row);
  return tensor.dtype == DType::kF64 ? RowOf<double>(tensor, row) : RowOf<int32_t>(tensor, row);
}

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PREDICTIONS_ROWS_H_
