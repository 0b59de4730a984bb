#include "tools/commands/input/data.h"

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"
#include "tools/commands/input/run_options.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kMockBatches = 50;

absl::StatusOr<ImageSets> MockSets(const ImageInputs& inputs, uint64_t seed) {
  ImageSets sets;
  const int64_t batch = inputs.batch();
  ASSIGN_OR_RETURN(sets.train, MakeMockDataset(kMockBatches * batch, inputs.shape(), inputs.classes, seed));
  // The last batch of an evaluation is nearly never full.
  ASSIGN_OR_RETURN(sets.test, MakeMockDataset(2 * batch + (batch + 1) / 2, inputs.shape(), inputs.classes, seed + 1));
  return sets;
}

}  // namespace

std::vector<std::string> DataFlags() { return {"data", "mock-data", "seed"}; }

absl::StatusOr<TrainingData> ReadData(const Flags& flags, const ImageInputs& inputs, const Augmentation& augmentation) {
  const bool mock = flags.Bool("mock-data");
  if (mock && flags.IsSet("data")) return FlagError("flags --data and --mock-data are given; one of them is allowed");
  const std::string folder = flags.IsSet("data") ? flags.Text("data") : kFashionMnistFolder;
  const auto seed = static_cast<uint64_t>(flags.Int("seed"));
  ASSIGN_OR_RETURN(ImageSets sets, mock ? MockSets(inputs, seed) : LoadMnistFolder(folder, kFashionMnistClasses));
  RETURN_IF_ERROR(CheckDataset(inputs, sets.train, folder));
  ImageBatchOptions options;
  options.batch_rows = inputs.batch();
  options.seed = seed;
  options.normalization = MeasureNormalization(sets.train);
  options.fields = {inputs.images, inputs.labels, kSampleWeightName, FloatingType(flags)};
  const auto make = [&](ImageDataset& set) {
    return ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(set)), options);
  };
  TrainingData data;
  data.manifest = fmt::format("{} + {} samples, {:016x} {:016x}", sets.train.count, sets.test.count, Digest(sets.train),
                              Digest(sets.test));
  options.augmentation = augmentation;
  ASSIGN_OR_RETURN(data.training, make(sets.train));
  options.augmentation = {};
  options.mode = BatchMode::kEvaluation;
  ASSIGN_OR_RETURN(data.test, make(sets.test));
  return data;
}

}  // namespace partita
