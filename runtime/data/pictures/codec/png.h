// PNG by libpng: every colour type and depth, interlaced or not.
//
// 16 bits are rounded to 8, transparent pixels show white, and bytes are used as stored: neither gamma nor a colour
// profile is applied. The picture is turned as Exif says (chunk eXIf). A file is read to its end and every checksum is
// verified. The library reports errors by a jump and would end the process otherwise; here they are kInvalidArgument
// with the library's own words.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_CODEC_PNG_H_
#define PARTITA_RUNTIME_DATA_PICTURES_CODEC_PNG_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/pictures/codec/picture.h"

namespace partita {

// `channels`: 1 or 3. `name` is for messages, `budget` as in picture.h. After an error `picture` holds anything.
absl::Status DecodePng(const std::string& name, std::span<const uint8_t> bytes, int channels, int64_t budget,
                       Picture& picture);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_CODEC_PNG_H_
