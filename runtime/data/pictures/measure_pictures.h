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

// Of at most so many pictures.
inline constexpr int64_t kMeasuredPictures = 1024;

// Of the middles of a sample of the set, which is always the same, whatever the seed of a run: what was measured when a
// model was trained is measured again when it is evaluated. From exact integer sums, so that every process gets the
// same bits. Pictures that are damaged are told to `bad`. kInvalidArgument: there are none.
absl::StatusOr<Normalization> MeasurePictures(const PictureSet& set, const ViewOptions& views, int channels,
                                              DecodeThreads& threads, BadFiles& bad);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_MEASURE_PICTURES_H_
