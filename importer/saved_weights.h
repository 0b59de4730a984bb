// The weights of an exported program as files: for runs here, and as PyTorch has them.
#ifndef PARTITA_IMPORTER_SAVED_WEIGHTS_H_
#define PARTITA_IMPORTER_SAVED_WEIGHTS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "importer/import_model.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

// Writes all weights as safetensors, under the module's names and in the order of the graph's states. Floating ones as
// `floats`; without it those of f64 as f64, for runs with --precision=f64, and others as f32.
absl::Status SaveWeights(const ImportedModel& imported, const std::string& path,
                         std::optional<DType> floats = std::nullopt);

// The same as a file in memory.
absl::StatusOr<SafetensorsFile> WeightsOf(const ImportedModel& imported);

// Writes what load_state_dict of the exported module accepts: its parameters and persistent buffers under their names
// and with their dimensions as PyTorch has them, those that the graph has as `trained` has them, others, such as
// counters of batches, as the program has them. kInvalidArgument: `trained` lacks a weight or has it in another shape
// or type.
absl::Status SaveForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path);
// Writes the ONNX model with the weights of `trained` in place of its own; all else of the file stays as it is.
// kInvalidArgument: its weights lie in a file beside it, or are numbers of the message; a number is too large for the
// float16 of its own; or as for PyTorch.
absl::Status SaveForOnnx(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path);
// Writes the optimizer's slots of `trained` as torch.optim has them: PARAMETER.exp_avg, .exp_avg_sq, .momentum_buffer,
// .sum, .square_avg, .grad_avg with the parameter's name and dimensions in the module, and `step`, the number of steps.
// kInvalidArgument: `trained` has none, or in another shape or type.
absl::Status SaveOptimizerForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained,
                                     const std::string& path);

// One weight's bytes in the order and type of the graph's state, little-endian f32, f64 or i32.
absl::StatusOr<std::string> ReadWeight(const ImportedModel& imported, const torch_export::ImportedState& state,
                                       DType type);

}  // namespace partita

#endif  // PARTITA_IMPORTER_SAVED_WEIGHTS_H_
