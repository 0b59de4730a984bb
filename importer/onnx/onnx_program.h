// An ONNX model (.onnx) as a program of PyTorch's ops, which importer/translation makes a graph of.
#ifndef PARTITA_IMPORTER_ONNX_ONNX_PROGRAM_H_
#define PARTITA_IMPORTER_ONNX_ONNX_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "importer/program/exported_program.h"

namespace partita::onnx {

// Initializers of floats are parameters under their names; README.md says which are not. The first dimension of the
// inputs is the batch: of as many samples as the file fixes, or of kDefaultBatch where it leaves that open or fixes
// one.
inline constexpr int64_t kDefaultBatch = 32;

// Batch norms train, whichever mode the file was exported in, unless their statistics are frozen. Nodes that cannot be
// read are in the program, with the reason: what nothing needs does not have to be read. kInvalidArgument: errors of
// ReadOnnxModel; an input whose sizes are not known; an op that is control flow, ...
absl::StatusOr<torch_export::ExportedProgram> ReadOnnxProgram(const std::string& path, bool frozen_statistics);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_ONNX_PROGRAM_H_
