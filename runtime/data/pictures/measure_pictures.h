// Mean and deviation of pictures that are too many to look at all of them.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_MEASURE_PICTURES_H_
#define PARTITA_RUNTIME_DATA_PICTURES_MEASURE_PICTURES_H_

#include "absl/status/statusor.h"
#include "runtime/data/normalization.h"
#include "runtime/data/pictures/bad_files.h"
#include "runtime/data/pictures/decode_threads.h"
#include "runtime/data/pictures/picture_set.h"
#include "runtime/data/pictures/transform/view.h"

namespace partita {

// The most pictures to measure.
inline constexpr int64_t kMeasuredPictures = 1024;

// Of the centers of a sample of the set. The sample does not depend on a run's seed, so that training and evaluation of
// a model measure the same values. From exact integer sums, so that all processes get bitwise identical values. Damaged
// pictures are reported to `bad`. kInvalidArgument: there are no pictures.
absl::StatusOr<Normalization> MeasurePictures(const PictureSet& set, const ViewOptions& views, int channels,
                                              DecodeThreads& threads, BadFiles& bad);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_MEASURE_PICTURES_H_
