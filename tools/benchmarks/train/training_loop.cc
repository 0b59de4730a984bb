#include "tools/benchmarks/train/training_loop.h"

#include <cstring>
#include <utility>
#include <vector>

#include "graph/given/give_inputs.h"
#include "graph/ir/generated_name.h"
#include "graph/sets/find_set_results.h"
#include "ops/registry.h"
#include "ops/values/number_op.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/synthetic_batches.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/graph_fields.h"
#include "runtime/train/image_inputs.h"

namespace partita {
namespace {

// Random batches, used in turns; as the peers have them, of large images few, which take memory.
constexpr int64_t kBatches = 16, kLargeBatches = 2;
constexpr int64_t kLargeImage = 64 * 64;  // pixels
constexpr int64_t kEpoch = 1'000'000;     // batches: no run comes to its end
constexpr int64_t kLearningSteps = 1'000'000;

// Batches that another source has made once.
class ReadyBatches : public BatchSource {
 public:
  // `source`: that of the batches.
  ReadyBatches(const BatchSource& source, std::vector<std::vector<HostTensor>> batches)
      : fields_(source.fields()), batch_rows_(source.batch_rows()), batches_(std::move(batches)) {}

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return kEpoch * batch_rows(); }
  int64_t batch_rows() const override { return batch_rows_; }
  int64_t batches_per_epoch() const override { return kEpoch; }

  int64_t bytes() const {
    int64_t sum = 0;
    for (const std::vector<HostTensor>& batch : batches_) {
      for (const HostTensor& field : batch) sum += static_cast<int64_t>(field.bytes.size());
    }
    return sum;
  }

  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    const std::vector<HostTensor>& whole = batches_[static_cast<size_t>(batch) % batches_.size()];
    for (size_t f = 0; f < out.size(); ++f) {
      std::memcpy(out[f].data(), whole[f].bytes.data() + rows.begin * fields()[f].row_bytes(), out[f].size());
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<Field> fields_;
  const int64_t batch_rows_;
  const std::vector<std::vector<HostTensor>> batches_;
};

absl::StatusOr<std::shared_ptr<const BatchSource>> MakeBatches(const ImageInputs& inputs, DType pixels, BatchMode mode,
                                                               int64_t batches) {
  const int64_t rows = inputs.batch();
  ASSIGN_OR_RETURN(ImageDataset set, MakeMockDataset(batches * rows, inputs.shape(), inputs.classes, 1));
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = rows;
  options.normalization = MeasureNormalization(set);
  options.fields = {inputs.images, inputs.labels, kSampleWeightName, pixels, inputs.type.dtype};
  return ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(set)), options);
}

absl::StatusOr<std::shared_ptr<const BatchSource>> MakeReady(const BatchSource& source, int64_t count) {
  std::vector<std::vector<HostTensor>> batches;
  for (int64_t b = 0; b < count; ++b) {
    ASSIGN_OR_RETURN(std::vector<HostTensor> batch, WholeBatch(source, b));
    batches.push_back(std::move(batch));
  }
  return std::make_shared<const ReadyBatches>(source, std::move(batches));
}

absl::StatusOr<TrainingData> ImagesFor(const ImageInputs& inputs, const GivenForms& given) {
  const auto form = given.find(inputs.images);
  const DType pixels = form == given.end() ? inputs.type.dtype : form->second.dtype;
  const ImageShape shape = inputs.shape();
  const int64_t count = shape.height * shape.width > kLargeImage ? kLargeBatches : kBatches;
  ASSIGN_OR_RETURN(const auto source, MakeBatches(inputs, pixels, BatchMode::kTraining, count));
  TrainingData data;
  ASSIGN_OR_RETURN(data.training, MakeReady(*source, count));
  ASSIGN_OR_RETURN(data.test, MakeBatches(inputs, pixels, BatchMode::kEvaluation, 1));
  return data;
}

// Of a graph of other inputs.
absl::StatusOr<TrainingData> ArraysFor(const Graph& graph) {
  ASSIGN_OR_RETURN(const int64_t rows, BatchRows(graph));
  const SyntheticBatches source(WantedFields(graph, DType::kF32),
                                {rows, kBatches, 1, {kSampleWeightName, DType::kF32, {}}});
  TrainingData data;
  ASSIGN_OR_RETURN(data.training, MakeReady(source, kBatches));
  return data;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingLoop>> TrainingLoop::Create(Model model, const Strategy& strategy,
                                                                   const ProgramOptions& program_options,
                                                                   const SessionOptions& session) {
  model.learning_rate.steps = kLearningSteps;
  std::unique_ptr<TrainingLoop> loop(new TrainingLoop());
  const absl::StatusOr<ImageInputs> images = FindImageInputs(model.graph);
  ASSIGN_OR_RETURN(loop->data_, images.ok() ? ImagesFor(*images, program_options.given) : ArraysFor(model.graph));
  loop->ready_bytes_ = static_cast<const ReadyBatches&>(*loop->data_.training).bytes();
  ASSIGN_OR_RETURN(loop->data_.set_results, FindSetResults(model, Ops(), IsOnNumbers));
  ProgramOptions reporting = program_options;
  reporting.evaluated = loop->data_.set_results.reported;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), reporting));
  ASSIGN_OR_RETURN(loop->session_, Session::Start(std::move(program), session));
  return loop;
}

absl::StatusOr<TrainingResult> TrainingLoop::Run(int64_t steps, const std::function<void()>& on_step,
                                                 const TrainingPauses& pauses) {
  TrainingOptions options;
  options.steps = steps;
  options.on_step = on_step;
  options.pauses = pauses;
  TrainingResult result;
  RETURN_IF_ERROR(Train(*session_, data_, options, result));
  return result;
}

}  // namespace partita
