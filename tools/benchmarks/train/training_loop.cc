#include "tools/benchmarks/train/training_loop.h"

#include <chrono>
#include <span>
#include <utility>

#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"

namespace partita {
namespace {

constexpr int64_t kBatches = 16;  // random ones, used in turns

HostTensor MakeTensor(const TensorType& type) {
  HostTensor tensor{type.dtype, type.shape, {}};
  tensor.bytes.resize(static_cast<size_t>(Elements(type.shape) * SizeOf(type.dtype)));
  return tensor;
}

}  // namespace

absl::StatusOr<std::vector<TrainingLoop::HostBatch>> TrainingLoop::MakeBatches(const ImageInputs& inputs) {
  const int64_t rows = inputs.batch();
  ASSIGN_OR_RETURN(ImageDataset set, MakeMockDataset(kBatches * rows, inputs.shape(), inputs.classes, 1));
  ImageBatchOptions options;
  options.batch_rows = rows;
  options.normalization = MeasureNormalization(set);
  ASSIGN_OR_RETURN(const auto source,
                   ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(set)), options));
  std::vector<HostBatch> batches;
  std::vector<float> weights(static_cast<size_t>(rows));
  for (int64_t b = 0; b < kBatches; ++b) {
    HostBatch batch{MakeTensor(inputs.type), MakeTensor({DType::kI32, {rows}})};
    const BatchBuffers buffers{inputs.type.dtype,
                               std::as_writable_bytes(std::span(batch.images.bytes)),
                               {reinterpret_cast<int32_t*>(batch.labels.bytes.data()), static_cast<size_t>(rows)},
                               std::as_writable_bytes(std::span(weights))};
    RETURN_IF_ERROR(source->Fill(b, {0, rows}, buffers));
    batches.push_back(std::move(batch));
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
  RETURN_IF_ERROR(session_->StageInput(Entry::kTrain, inputs_.images, batch.images));
  return session_->StageInput(Entry::kTrain, inputs_.labels, batch.labels);
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
