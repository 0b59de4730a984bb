// Predictions as other programs read them.
#ifndef PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTION_FILE_H_
#define PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTION_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/api/rank/gather.h"

namespace partita {

// kJsonLines: an object for each sample.
enum class PredictionFormat : uint8_t { kNpy, kCsv, kJsonLines };

// By the ending: .npy, .jsonl, else .csv.
PredictionFormat FormatOfPredictions(const std::string& path);

// A tensor [samples, ...] of f32, f64 or i32 as NumPy's format 1.0 (little-endian, row-major).
absl::Status SaveNpy(const HostTensor& tensor, const std::string& name, const std::string& path);

// The same tensor as text, a line for each sample, whose numbers read back bitwise identical: comma-separated under a
// line of names `name[0],name[1],...`, or as objects with `name`. Where samples have names, these come first, under
// `sample`.
absl::StatusOr<std::string> PrintPredictions(const HostTensor& tensor, const std::string& name,
                                             const std::vector<std::string>& samples, PredictionFormat format);

// A text as a field of RFC 4180.
std::string CsvText(const std::string& text);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PREDICTIONS_PREDICTION_FILE_H_
