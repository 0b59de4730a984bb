// Pictures in tar archives, as WebDataset has them: a sample is the entries of one name, NAME.jpg, .jpeg or .png and
// NAME.cls, one behind the other; .cls holds the label in decimal digits. NAME ends at the first point behind the last
// slash. Other entries of a sample are passed over.
//
// Of several archives in a folder those whose names begin with train are training's, with test or val the test's; if
// none does, a share of the samples is held out by the hash of SHARD/NAME.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SHARDS_H_
#define PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SHARDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/pictures/decode_threads.h"
#include "runtime/data/pictures/picture_folder.h"
#include "runtime/data/pictures/picture_set.h"

namespace partita {

// Names of the archives (.tar) of `path`, a folder or an archive itself, in order; none if it is neither.
std::vector<std::string> ShardsOf(const std::string& path);

// Bad are: a sample without picture or label, a label that is not a number or too large, and what KeepPictures finds.
// Classes are the numbers from 0 to the largest label. kInvalidArgument under every policy: a damaged archive, archives
// of which only some name their set, fewer than two classes.
absl::StatusOr<PictureSets> ScanPictureShards(const std::string& path, const ScanOptions& options,
                                              DecodeThreads& threads);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SHARDS_H_
