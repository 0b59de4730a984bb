// Predictions as a file that other programs read.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_PREDICTION_FILE_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_PREDICTION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/api/rank/gather.h"

namespace partita {

// A tensor [samples, ...] of f32, f64 or i32 as NumPy's format 1.0 (little-endian, row-major), or as comma-separated
// numbers: a line for each sample, which reads back bitwise identical, under a line of names `name[0],name[1],...`.
// Where samples have names, these come first, under `sample`.
absl::Status SavePredictions(const HostTensor& tensor, const std::string& name, const std::vector<std::string>& samples,
                             const std::string& path);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_PREDICTION_FILE_H_
