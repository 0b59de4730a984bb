#include "runtime/data/pictures/codec/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>

// After <cstdio>, which it needs.
#include <jpeglib.h>

// After <jpeglib.h>, which says which messages there are.
#include <jerror.h>

#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/channels.h"
#include "runtime/data/pictures/codec/orientation.h"

namespace partita {
namespace {

// Each scan of a progressive file goes over the whole picture, however few bytes it has.
constexpr int kMostScans = 100;

// What libjpeg calls back. `base` is first, so that its address is that of the whole.
struct Errors {
  jpeg_error_mgr base = {};
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX] = "";
  bool damaged = false;
};

Errors& ErrorsOf(j_common_ptr info) { return *reinterpret_cast<Errors*>(info->err); }

[[noreturn]] void OnError(j_common_ptr info) {
  Errors& errors = ErrorsOf(info);
  info->err->format_message(info, errors.message);
  std::longjmp(errors.escape, 1);
}

// Of warnings those that say that pixels are lost.
bool SaysDamage(int code) {
  return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF || code == JWRN_MUST_RESYNC ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_NOT_SEQUENTIAL;
}

void OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  ++info->err->num_warnings;
  Errors& errors = ErrorsOf(info);
  if (errors.damaged || !SaysDamage(info->err->msg_code)) return;
  errors.damaged = true;
  info->err->format_message(info, errors.message);
}

void OnProgress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  Errors& errors = ErrorsOf(info);
  std::snprintf(errors.message, sizeof errors.message, "it has more than %d scans", kMostScans);
  std::longjmp(errors.escape, 1);
}

// The library's state. A jump ends in the method that called the library, where no object with a destructor is alive.
class JpegReader {
 public:
  JpegReader() {
    state_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = OnError;
    errors_.base.emit_message = OnMessage;
    errors_.base.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = OnProgress;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&state_); }

  bool ReadHeader(std::span<const uint8_t> bytes) {
    if (setjmp(errors_.escape) != 0) return false;
    jpeg_create_decompress(&state_);
    state_.mem->max_memory_to_use = 0;  // no limit, whatever JPEGMEM says
    state_.progress = &progress_;
    jpeg_mem_src(&state_, bytes.data(), bytes.size());
    return jpeg_read_header(&state_, TRUE) == JPEG_HEADER_OK;
  }

  PictureSize size() const { return {state_.image_height, state_.image_width}; }
  int components() const { return state_.num_components; }
  bool inks() const { return state_.jpeg_color_space == JCS_CMYK || state_.jpeg_color_space == JCS_YCCK; }
  bool known() const { return inks() || components() == 1 || components() == 3; }

  // Of a file of several scans the library holds all coefficients, of two bytes, in whole units of 8 x 8 samples.
  int64_t coefficient_bytes() {
    if (!jpeg_has_multiple_scans(&state_)) return 0;
    const auto whole = [](int64_t blocks, int unit) { return (blocks + unit - 1) / unit * unit; };
    int64_t bytes = 0;
    for (int i = 0; i < components(); ++i) {
      const jpeg_component_info& part = state_.comp_info[i];
      bytes += whole(part.width_in_blocks, part.h_samp_factor) * whole(part.height_in_blocks, part.v_samp_factor) *
               static_cast<int64_t>(sizeof(JBLOCK));
    }
    return bytes;
  }

  // `inks`: room for a row of CMYK, if the file has it. `row`: for one of `channels`.
  bool ReadRows(int channels, Orientation orientation, Picture& picture, std::span<uint8_t> inks,
                std::span<uint8_t> row) {
    if (setjmp(errors_.escape) != 0) return false;
    state_.out_color_space = !inks.empty() ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      const int64_t y = state_.output_scanline;
      JSAMPROW read = inks.empty() ? row.data() : inks.data();
      jpeg_read_scanlines(&state_, &read, 1);
      if (!inks.empty()) ConvertInks(inks, row, channels);
      PlaceRow(row, y, size(), orientation, picture);
    }
    jpeg_finish_decompress(&state_);
    return !errors_.damaged;
  }

  const char* message() const { return errors_.message; }

 private:
  Errors errors_;
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct state_ = {};
};

}  // namespace

absl::Status DecodeJpeg(const std::string& name, std::span<const uint8_t> bytes, int channels, int64_t budget,
                        Picture& picture) {
  JpegReader reader;
  if (!reader.ReadHeader(bytes)) return InvalidArgument("{}: the JPEG file is damaged: {}", name, reader.message());
  if (!reader.known()) {
    return InvalidArgument("{}: found a JPEG file of {} components, allowed are 1 (grey), 3 (colour) and 4 (CMYK)",
                           name, reader.components());
  }
  const PictureSize size = reader.size();
  const int64_t held = static_cast<int64_t>(bytes.size()) + size.pixels() * channels + reader.coefficient_bytes();
  RETURN_IF_ERROR(CheckPictureSize(name, size, held, budget));
  const Orientation orientation = OrientationOfJpeg(bytes);
  picture.size = Oriented(size, orientation);
  picture.channels = channels;
  picture.pixels.resize(static_cast<size_t>(size.pixels() * channels));
  std::vector<uint8_t> inks(static_cast<size_t>(reader.inks() ? 4 * size.width : 0));
  std::vector<uint8_t> row(static_cast<size_t>(channels * size.width));
  if (reader.ReadRows(channels, orientation, picture, inks, row)) return absl::OkStatus();
  return InvalidArgument("{}: the JPEG file is damaged: {}", name, reader.message());
}

}  // namespace partita
