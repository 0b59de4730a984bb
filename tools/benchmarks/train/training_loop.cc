#include "tools/benchmarks/train/training_loop.h"

#include <chrono>
#include <utility>

#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/batch_feed.h"

namespace partita {
namespace {

constexpr int64_t kBatches = 16;  // random ones, used in turns

}  // namespace

absl::StatusOr<std::vector<TrainingLoop::HostBatch>> TrainingLoop::MakeBatches(const ImageInputs& inputs) {
  const int64_t rows = inputs.batch();
  ASSIGN_OR_RETURN(ImageDataset set, MakeMockDataset(kBatches * rows, inputs.shape(), inputs.classes, 1));
  ImageBatchOptions options;
  options.batch_rows = rows;
  options.normalization = MeasureNormalization(set);
  options.fields.dtype = inputs.type.dtype;
  ASSIGN_OR_RETURN(const auto source,
                   ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(set)), options));
  std::vector<HostBatch> batches;
  for (int64_t b = 0; b < kBatches; ++b) {
    ASSIGN_OR_RETURN(std::vector<HostTensor> fields, WholeBatch(*source, b));
    fields[0].shape = inputs.type.shape;
    batches.push_back({std::move(fields[0]), std::move(fields[1])});
  }
  return batches;
}

absl::StatusOr<std::unique_ptr<TrainingLoop>> TrainingLoop::Create(Model model, const Strategy& strategy,
                                                                   const ProgramOptions& program_options,
                                                                   const SessionOptions& session) {
  model.learning_rate.steps = 1'000'000;
  std::unique_ptr<TrainingLoop> loop(new TrainingLoop());
  ASSIGN_OR_RETURN(loop->inputs_, FindImageInputs(model.graph));
  ASSIGN_OR_RETURN(loop->batches_, MakeBatches(loop->inputs_));
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), program_options));
  ASSIGN_OR_RETURN(loop->session_, Session::Start(std::move(program), session));
  return loop;
}

absl::Status TrainingLoop::StageNext() {
  const HostBatch& batch = batches_[static_cast<size_t>(staged_++ % kBatches)];
  RETURN_IF_ERROR(session_->StageInput(kTrainEntry, inputs_.images, batch.images));
  return session_->StageInput(kTrainEntry, inputs_.labels, batch.labels);
}

absl::StatusOr<double> TrainingLoop::Run(int64_t steps, const std::function<void()>& on_step) {
  if (staged_ == 0) RETURN_IF_ERROR(StageNext());
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    RETURN_IF_ERROR(session_->Train([this] { return StageNext(); }).status());
    if (on_step) on_step();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(steps * inputs_.batch()) / seconds.count();
}

}  // namespace partita
