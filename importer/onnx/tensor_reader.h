// Reads a TensorProto: where its bytes lie, or the elements that it has as numbers.
#ifndef PARTITA_IMPORTER_ONNX_TENSOR_READER_H_
#define PARTITA_IMPORTER_ONNX_TENSOR_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "importer/onnx/model.h"
#include "importer/onnx/wire_file.h"

namespace partita::onnx {

// How many messages, texts and numbers a file may still hold in memory: a short file cannot ask for much of it.
class Budget {
 public:
  absl::Status Take(int64_t count);

 private:
  int64_t left_ = int64_t{1} << 24;
};

// Adds packed varints, which end there, or one that is not packed.
absl::Status AppendIntegers(WireFile& file, const WireField& field, Budget& budget, IntList& integers);

// The message that ends at `end`. `path`: the model, beside which external data lie.
absl::StatusOr<Tensor> ReadTensor(WireFile& file, int64_t end, const std::string& path, Budget& budget);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_TENSOR_READER_H_
