// A session that trains on random batches which lie ready in memory: data sets and prefetching are no part of what is
// measured.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "runtime/api/session.h"
#include "runtime/train/image_inputs.h"

namespace partita {

// Thread-compatible.
class TrainingLoop {
 public:
  // `model`: its schedule of the learning rate is made long enough for any run.
  static absl::StatusOr<std::unique_ptr<TrainingLoop>> Create(Model model, const Strategy& strategy,
                                                              const ProgramOptions& program,
                                                              const SessionOptions& session);

  Session& session() { return *session_; }

  // Samples per second of so many steps; `on_step` after each.
  absl::StatusOr<double> Run(int64_t steps, const std::function<void()>& on_step = nullptr);

 private:
  struct HostBatch {
    HostTensor images, labels;
  };

  TrainingLoop() = default;
  static absl::StatusOr<std::vector<HostBatch>> MakeBatches(const ImageInputs& inputs);
  absl::Status StageNext();

  ImageInputs inputs_;
  std::vector<HostBatch> batches_;
  std::unique_ptr<Session> session_;
  int64_t staged_ = 0;  // batches so far; the last one waits for its step
};

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_TRAINING_LOOP_H_
