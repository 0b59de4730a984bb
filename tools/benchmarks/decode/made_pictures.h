// Generated pictures to decode if the caller names none: of a photograph's size, smooth with some noise.
#ifndef PARTITA_TOOLS_BENCHMARKS_DECODE_MADE_PICTURES_H_
#define PARTITA_TOOLS_BENCHMARKS_DECODE_MADE_PICTURES_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

// `count` files `format` (jpeg, quality 90, or png) of 375 x 500 pixels in each of the folders FOLDER/a and FOLDER/b.
absl::Status MakePictures(const std::string& folder, const std::string& format, int count);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_DECODE_MADE_PICTURES_H_
