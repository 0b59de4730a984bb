// Exports a value of a model as ONNX, reads the file back and compares what both predict.
#ifndef PARTITA_TESTS_EXPORTER_ONNX_ROUND_TRIP_H_
#define PARTITA_TESTS_EXPORTER_ONNX_ROUND_TRIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"

namespace partita {

struct RoundTrip {
  std::string path;        // of the ONNX model
  bool any_batch = false;  // it fits every batch
  double difference = 0;   // the largest one, as a share of the largest value
};

// Of a model in f64, whose states are those after `steps` steps on a random batch. `batches`: the sizes to predict.
absl::StatusOr<RoundTrip> ExportAndReadBack(const Model& model, const std::string& value, int steps,
                                            const std::vector<int64_t>& batches);

}  // namespace partita

#endif  // PARTITA_TESTS_EXPORTER_ONNX_ROUND_TRIP_H_
