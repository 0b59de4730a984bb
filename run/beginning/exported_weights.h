// The weights that the exported program of a run has, with which it begins unless it loads others.
#ifndef PARTITA_RUN_BEGINNING_EXPORTED_WEIGHTS_H_
#define PARTITA_RUN_BEGINNING_EXPORTED_WEIGHTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "proto/run.pb.h"
#include "run/beginning/temporary_weights.h"
#include "runtime/checkpoint/checked_file.h"

namespace partita {

// Written to a temporary file, which is gone with the object.
class ExportedWeights {
 public:
  // kInvalidArgument: the graph of `spec` is no exported program, or not that of the model. kResourceExhausted
  // and others: the file cannot be written, there is no room for it.
  static absl::StatusOr<ExportedWeights> Open(const RunSpec& spec, const Model& model, const Program& program);

  const CheckedFile& states() const { return states_; }

 private:
  ExportedWeights(std::shared_ptr<const TemporaryWeights> file, CheckedFile states)
      : file_(std::move(file)), states_(std::move(states)) {}

  std::shared_ptr<const TemporaryWeights> file_;
  CheckedFile states_;
};

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_EXPORTED_WEIGHTS_H_
