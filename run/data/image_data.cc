#include "run/data/image_data.h"

#include <fmt/ranges.h>

#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/value/node_name.h"
#include "run/data/class_weights.h"
#include "run/plan/pixel_forms.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"

namespace partita {
namespace {

constexpr int64_t kMockBatches = 50;

absl::StatusOr<Normalization> NormalizationOf(const std::string& source, const ImageSets& sets,
                                              const ImageRequest& image, const DataRequest& request) {
  ASSIGN_OR_RETURN(std::optional<Normalization> known, KnownNormalization(image, request));
  if (known) return *std::move(known);
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

absl::StatusOr<std::optional<Normalization>> PixelStatistics(const RunSpec& spec, int64_t channels) {
  if (!spec.dataset().has_pixel_statistics()) return std::nullopt;
  const std::string& text = spec.dataset().pixel_statistics();
  const auto equal = [channels](double mean, double deviation) {
    const auto count = static_cast<size_t>(channels);
    return Normalization{std::vector(count, mean), std::vector(count, deviation)};
  };
  if (text == "unit") return NoNormalization(channels);
  if (text == "centered") return equal(0.5, 0.5);
  const bool imagenet = text == "imagenet";
  // Of torchvision's models, in units of 1 = white.
  Normalization result{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  if (!imagenet) {
    const size_t colon = text.find(':');
    const absl::Status unknown = FlagError(
        "flag --pixel-statistics is {}; expected imagenet, centered, unit, or means and deviations as "
        "0.5,0.4,0.4:0.2,0.2,0.2",
        Quoted(text));
    if (colon == std::string::npos) return unknown;
    result = {};
    for (const auto& [part, numbers] :
         {std::pair(text.substr(0, colon), &result.mean), std::pair(text.substr(colon + 1), &result.deviation)}) {
      for (const std::string& word : ListOf(part)) {
        const std::optional<double> number = NumberOf<double>(word);
        if (!number) return unknown;
        numbers->push_back(*number);
      }
    }
  }
  const absl::Status fits = CheckNormalization(result, channels);
  if (!fits.ok()) return FlagError("flag --pixel-statistics is {}: {}", Quoted(text), std::string(fits.message()));
  return result;
}

absl::StatusOr<std::optional<Normalization>> KnownNormalization(const ImageRequest& image, const DataRequest& request) {
  if (!request.preprocessing) return image.normalization;
  const Normalization& model = request.preprocessing->normalization;
  if (image.normalization &&
      (image.normalization->mean != model.mean || image.normalization->deviation != model.deviation)) {
    return FlagError("flag --pixel-statistics differs from what the model was trained with: mean {}, deviation {}",
                     fmt::join(model.mean, ","), fmt::join(model.deviation, ","));
  }
  return model;
}

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
  ASSIGN_OR_RETURN(options.normalization, NormalizationOf(source, sets, image, request));
  const DType pixels = PixelTypeOf(image.inputs, options.normalization, image.floating);
  options.fields = {image.inputs.images, image.inputs.labels, kSampleWeightName, pixels, image.floating};
  TrainingData data;
  if (pixels == DType::kU8) data.pixels[image.inputs.images] = options.normalization;
  data.preprocessing = {(sets.train ? sets.train : sets.test)->shape, image.inputs.classes, options.normalization};
  data.manifest = fmt::format("training set: {}; test set: {}", DigestOf(sets.train), DigestOf(sets.test));
  if (request.counts_labels && sets.train) {
    data.label_counts[image.inputs.labels] = CountLabels(sets.train->labels, image.inputs.classes);
  }
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
