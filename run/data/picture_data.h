// Labelled pictures in files as batches: folders by class, or tar archives.
#ifndef PARTITA_RUN_DATA_PICTURE_DATA_H_
#define PARTITA_RUN_DATA_PICTURE_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "run/data/data.h"
#include "run/data/image_data.h"
#include "runtime/train/trainer.h"

namespace partita {

// Whether `path` is a tar archive, or a folder with some, or one with folders and no IDX files.
bool HoldsPictures(const std::string& path);

// Checked against the graph. Pixels are normalised as `request` says, else by the mean and deviation of a sample of the
// training pictures. Logs a warning for files that --bad-files skips.
absl::StatusOr<TrainingData> PictureData(const std::string& path, const RunSpec& spec, const ImageRequest& image,
                                         const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_PICTURE_DATA_H_
