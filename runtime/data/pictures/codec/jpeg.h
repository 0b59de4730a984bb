// JPEG by libjpeg-turbo: baseline and progressive, grey, colour and CMYK (as Adobe writes it).
//
// The library reports errors by a jump and would end the process otherwise; here they are kInvalidArgument with the
// library's own words. The library continues after damaged data and warns; its picture is then not the stored one, so
// that is an error too. The picture is turned as Exif says.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/pictures/codec/picture.h"

namespace partita {

// `channels`: 1 or 3. `name` is for messages, `budget` as in picture.h. After an error `picture` holds anything.
absl::Status DecodeJpeg(const std::string& name, std::span<const uint8_t> bytes, int channels, int64_t budget,
                        Picture& picture);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_JPEG_H_
