// A session's states as a safetensors file: whole tensors, independent of their layout.
//
// States are of two kinds: those of the user's graph (parameters, running statistics), and those that training added
// beside them (the iteration, the optimizer's slots), whose names carry '@'. Which of the latter there are is the
// program's to say; nothing here knows one by its name.
#ifndef PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_
#define PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/program.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/checked_file.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/model_record.h"

namespace partita {

// Which states are saved or loaded.
enum class States {
  kWeights,    // those of the user's graph
  kEvaluated,  // these, and what entry points other than training read of the others
  kAll,
};

// What `train` and the library write: all states, with where training stands; or, where the session does not train or
// `weights_only` is set, what evaluation reads. Otherwise as SaveStates.
absl::Status SaveModel(const Session& session, const Model& model, ModelRecord record, bool weights_only,
                       const std::string& path);

// Collective until all states have been gathered, one at a time; then the process of rank 0, which has put them aside
// on its disk, writes the file. `record`: what the file says beside them. kOutOfRange on all ranks: a state has a value
// that is not finite, and what `path` holds stays; the state and the element are named.
absl::Status SaveStates(const Session& session, const Model& model, const ModelRecord& record, States states,
                        const std::string& path);

// A file of states with its header read.
class ModelFile {
 public:
  // kInvalidArgument, before memory is taken for the tensors: one that is no state of the graph and no training can
  // have added to it, one of another shape than in the graph; a record that says nothing sensible.
  static absl::StatusOr<ModelFile> Open(const Model& model, const std::string& path);

  const std::string& path() const { return reader_.header().path(); }
  const ModelRecord& record() const { return record_; }
  // Its tensors alone count.
  void ForgetRecord() { record_ = {}; }

  // Reads it to its end. Of the result those tensors are wanted that a session of this program takes. kInvalidArgument:
  // a damaged file; with kAll, a state of the program that the file lacks, or a tensor that is none; another shape.
  absl::StatusOr<CheckedFile> Check(const Program& program, States states) &&;

 private:
  ModelFile(SafetensorsReader reader, ModelRecord record) : reader_(std::move(reader)), record_(std::move(record)) {}

  SafetensorsReader reader_;
  ModelRecord record_;
};

// Loads the states into the ranks of this process; every process reads the same file. A state that training added and
// the file lacks gets its initial value; one that evaluation reads in place of a parameter gets the parameter's value.
// So do states of the user's graph that are `optional`. Collective; no process holds more of a state than its ranks do.
// kInvalidArgument before any state is changed: the file lacks a state of the user's graph, or has another type or
// shape. Afterwards: the file was changed while it was read, and the states are invalid.
absl::Status LoadStates(Session& session, const CheckedFile& file, const std::set<std::string>& optional = {});

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_MODEL_FILE_H_
