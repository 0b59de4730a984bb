// Labelled images as batches: a folder of IDX files, or random ones of the graph's own size.
#ifndef PARTITA_RUN_DATA_IMAGE_DATA_H_
#define PARTITA_RUN_DATA_IMAGE_DATA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "run/data/data.h"
#include "runtime/data/image_dataset.h"
#include "runtime/data/normalization.h"
#include "runtime/train/image_inputs.h"
#include "runtime/train/trainer.h"

namespace partita {

// What a set of images becomes.
struct ImageRequest {
  ImageInputs inputs;
  DType floating = DType::kF32;
  uint64_t seed = 0;
  std::optional<Normalization> normalization = {};  // that the caller asks for
};

// That of --pixel-statistics, if there is one. FlagError: it names none, or has not a number for each channel.
absl::StatusOr<std::optional<Normalization>> PixelStatistics(const RunSpec& spec, int64_t channels);

// By which pixels are normalized unless they are measured: what the model knows, or what the caller asks for.
// FlagError: these differ.
absl::StatusOr<std::optional<Normalization>> KnownNormalization(const ImageRequest& image, const DataRequest& request);

absl::StatusOr<ImageSets> MockImages(const ImageRequest& image);

// Checked against the graph; `source` is where the sets are from, for messages. Pixels are normalised as `request`
// says, else by the mean and deviation of the training images.
absl::StatusOr<TrainingData> ImageData(const std::string& source, ImageSets sets, const ImageRequest& image,
                                       const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_IMAGE_DATA_H_
