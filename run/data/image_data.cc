#include "run/data/image_data.h"

#include <utility>

#include "graph/ir/generated_name.h"
#include "run/plan/pixel_forms.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"

namespace partita {
namespace {

constexpr int64_t kMockBatches = 50;

absl::StatusOr<Normalization> NormalizationOf(const std::string& source, const ImageSets& sets,
                                              const DataRequest& request) {
  if (request.preprocessing) return request.preprocessing->normalization;
  if (sets.train) return MeasureNormalization(*sets.train);
  return InvalidArgument("{}: there are no training images, on which the mean and deviation of pixels are measured",
                         source);
}

absl::StatusOr<std::shared_ptr<const BatchSource>> MakeBatches(std::optional<ImageDataset>& set,
                                                               ImageBatchOptions options) {
  if (!set) return nullptr;
  return ImageBatches::Create(std::make_shared<const ImageDataset>(*std::move(set)), std::move(options));
}

std::string DigestOf(const std::optional<ImageDataset>& set) {
  return set ? fmt::format("{} samples, {:016x}", set->count, Digest(*set)) : "none";
}

}  // namespace

absl::StatusOr<ImageSets> MockImages(const ImageRequest& image) {
  const ImageInputs& inputs = image.inputs;
  const int64_t batch = inputs.batch();
  ImageSets sets;
  ASSIGN_OR_RETURN(sets.train, MakeMockDataset(kMockBatches * batch, inputs.shape(), inputs.classes, image.seed));
  // The last batch of an evaluation is nearly never full.
  ASSIGN_OR_RETURN(sets.test,
                   MakeMockDataset(2 * batch + (batch + 1) / 2, inputs.shape(), inputs.classes, image.seed + 1));
  return sets;
}

absl::StatusOr<TrainingData> ImageData(const std::string& source, ImageSets sets, const ImageRequest& image,
                                       const DataRequest& request) {
  for (const auto* set : {&sets.train, &sets.test}) {
    if (*set) RETURN_IF_ERROR(CheckDataset(image.inputs, **set, source));
  }
  ImageBatchOptions options;
  options.batch_rows = image.inputs.batch();
  options.seed = image.seed;
  ASSIGN_OR_RETURN(options.normalization, NormalizationOf(source, sets, request));
  const DType pixels = PixelTypeOf(image.inputs, options.normalization, image.floating);
  options.fields = {image.inputs.images, image.inputs.labels, kSampleWeightName, pixels, image.floating};
  TrainingData data;
  if (pixels == DType::kU8) data.pixels[image.inputs.images] = options.normalization;
  data.preprocessing = {(sets.train ? sets.train : sets.test)->shape, image.inputs.classes, options.normalization};
  data.manifest = fmt::format("training set: {}; test set: {}", DigestOf(sets.train), DigestOf(sets.test));
  options.augmentation = request.augmentation;
  if (request.training != Need::kNo) {
    ASSIGN_OR_RETURN(data.training, MakeBatches(sets.train, options));
  }
  options.augmentation = {};
  options.mode = BatchMode::kEvaluation;
  if (request.test != Need::kNo) {
    ASSIGN_OR_RETURN(data.test, MakeBatches(sets.test, options));
  }
  return data;
}

}  // namespace partita
