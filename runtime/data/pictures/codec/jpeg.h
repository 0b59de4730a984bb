// JPEG by libjpeg-turbo: baseline and progressive, grey, colour and CMYK (as Adobe writes it).
//
// The library reports errors by a jump and would end the process otherwise; here they are kInvalidArgument with the
// library's own words. It goes on after damaged data and warns: what it then shows is not what was stored, so that is
// an error too. A rotation that a camera noted in the file (Exif) is not done.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/pictures/codec/picture.h"

namespace partita {

// `channels`: 1 or 3. `name` is for messages. After an error `picture` holds anything.
absl::Status DecodeJpeg(const std::string& name, std::span<const uint8_t> bytes, int channels, Picture& picture);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_
