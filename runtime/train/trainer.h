// Trains a session on a training set, epoch by epoch, and evaluates it on a test set after each, if there is one.
#ifndef PARTITA_RUNTIME_TRAIN_TRAINER_H_
#define PARTITA_RUNTIME_TRAIN_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/record.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/byte_scale.h"
#include "runtime/data/normalization.h"
#include "runtime/telemetry/progress.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/metrics.h"
#include "runtime/train/model_record.h"

namespace partita {

struct TrainingData {
  std::shared_ptr<const BatchSource> training;      // null: there is none, or it was not requested
  std::shared_ptr<const BatchSource> test;          // as above
  std::string manifest;                             // identifies the data; processes of a job compare it
  std::optional<Preprocessing> preprocessing = {};  // preprocessing of images; none: the data are not images of bytes
  ByteScales scales = {};                           // scaling of the bytes of arrays, by field
  // Fields of bytes that the program converts to numbers (ProgramOptions::given), and the conversion.
  std::map<std::string, Normalization> pixels = {};
  // How many labels of the training set are each class, by field, where the caller asked for it.
  std::map<std::string, std::vector<int64_t>> label_counts = {};
  int64_t decode_bytes = 0;  // memory limit of decoding pictures, for all decode threads together
  // Unusable files that this process has skipped so far.
  std::function<int64_t()> left_out_files = [] { return int64_t{0}; };
  // How results of the test set follow from those of its batches. Required with a test set.
  SetResults set_results = {};
};

struct EpochResult {
  int epoch = 0;             // from 1
  int64_t steps = 0;         // done in this epoch by this run
  int64_t done = 0;          // steps done in the epoch, including those of earlier runs
  int64_t of = 0;            // steps of a whole epoch
  double loss = 0;           // mean over the steps, including those of a run that it resumes
  Metrics metrics;           // also a mean over the steps
  double seconds = 0;        // of training, without evaluation
  int64_t samples = 0;       // trained on
  double learning_rate = 0;  // of the last step
  // Results of the test set after the epoch, or within it if is_enough ended the run; none if stopped earlier or
  // without a test set.
  std::optional<double> test_loss;
  Metrics test_metrics;  // of the same set
};

// What a run did, also when it ended with an error; for a resumed run, without the steps before it.
struct TrainingResult {
  std::vector<EpochResult> epochs;
  int64_t steps = 0;          // including skipped ones
  int64_t skipped_steps = 0;  // of them
  EntrySteps steps_of = {};   // the steps of the traffic; after a skipped step, only those after it
  int64_t samples = 0;
  double seconds = 0;                 // of training, without evaluation
  double data_wait_seconds = 0;       // of these, in which the next batch was not ready
  double data_making_seconds = 0;     // that batches took to be made, on a thread beside the steps
  int stopped_by = 0;                 // the value of the stop flag, if it was set before the end; else 0
  bool enough = false;                // is_enough ended the run at an evaluation
  std::vector<GroupTraffic> traffic;  // of all training steps, by group of the program
  LossSums open_epoch;                // of an unfinished epoch, which lacks steps or its evaluation
  int64_t left_out_files = 0;         // skipped files of the data, including those skipped before the first step

  double SamplesPerSecond() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
};

// Callbacks in which states may be read, because no step is in flight. All processes make them in the same order.
// `step`: the number of steps done. An error ends the run.
struct TrainingPauses {
  // The number of steps after `step` until on_steps is called next; 0: never again. Called at the beginning and after
  // each on_steps.
  std::function<absl::StatusOr<int64_t>(int64_t step)> next = [](int64_t) { return 0; };
  // `epoch`: its sums so far; at its end, after its evaluation, those of the next epoch.
  std::function<absl::Status(int64_t step, const LossSums& epoch)> on_steps = [](int64_t, const LossSums&) {
    return absl::OkStatus();
  };
  // After an epoch's evaluation.
  std::function<absl::Status(int64_t step, const EpochResult&)> on_evaluation = [](int64_t, const EpochResult&) {
    return absl::OkStatus();
  };
};

// Makes the callbacks of both, those of `first` before those of `second`.
TrainingPauses Together(TrainingPauses first, TrainingPauses second);

struct TrainingOptions {
  int64_t epochs = 1;      // 0: as many as `steps` takes
  int64_t steps = 0;       // ends after this number of steps if that is earlier; 0: only epochs count
  int64_t first_step = 0;  // the number of these steps already done: the states are those after them
  // Of these steps, those of the epoch to resume; if the epoch is complete, its evaluation is still to come.
  LossSums first_epoch = {};
  // The most steps to skip because they were not applied: their loss or the norm of their gradients is not finite. A
  // skipped step counts as done, its batch is not used again, and all ranks skip it alike. One more ends the run.
  int64_t skip_budget = 0;
  // Called for each skipped step with the number of steps done and why it was not applied.
  std::function<void(int64_t step, const absl::Status& why)> on_skip = [](int64_t, const absl::Status&) {};
  // Whether training may end at an evaluation of the test set: asked after each epoch, and within epochs after every
  // multiple of this number of steps (0: none). Training stays bitwise identical. All processes must answer alike.
  int64_t evaluate_every = 0;
  std::function<bool(int64_t step, const Evaluation&)> is_enough = [](int64_t, const Evaluation&) { return false; };
  TrainingPauses pauses = {};
  // Any thread of any process may set it non-zero at any time. Then the steps in flight finish, at most two; with
  // several processes also the next one or two, in which they notify each other. Train returns OK.
  const std::atomic<int>* stop = nullptr;
  // What the rates of the schedule are multiplied by, to report the rate of a step (kRateFactorName).
  std::function<double()> rate_factor = [] { return 1.0; };
  std::function<void()> on_step = [] {};  // after each training step; the next one may run (Session::Begin)
  double progress_seconds = 2;            // time between two calls of on_progress
  std::function<void(const Progress&)> on_progress = [](const Progress&) {};
  bool progress_to_the_end = false;  // on_progress is also called at the end, for the steps since the last call
  // The same after every multiple of this number of steps (0: never), and at the end for the steps since the last one.
  int64_t report_every = 0;
  std::function<void(const Progress&)> on_report = [](const Progress&) {};
  std::function<void(const EpochResult&)> on_epoch = [](const EpochResult&) {};
};

// The total number of steps, including those before first_step.
int64_t PlannedSteps(const TrainingOptions& options, int64_t batches_per_epoch);

// Sets the length of a schedule without one (steps == 0) to that of the run.
void SetScheduleLength(int64_t steps, LearningRate& rate);

// `data` has a training set. `result` holds what was done for every return value. kOutOfRange: more steps than may be
// skipped were not applied, because the loss or the norm of the gradients is not finite; names step, node and the first
// such value. IsDataError: a batch could not be made; the steps before it are done, and the states are those after
// them.
absl::Status Train(Session& session, const TrainingData& data, const TrainingOptions& options, TrainingResult& result);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_TRAINER_H_
