#include "runtime/data/pictures/codec/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/channels.h"
#include "runtime/data/pictures/codec/orientation.h"

namespace partita {
namespace {

constexpr png_alloc_size_t kLargestChunk = 8 << 20;  // bytes, of those that hold no pixels

// Chunks that say nothing about pixels as they are stored, and that many writers get wrong.
constexpr uint8_t kPassedOver[] = "iCCP\0tEXt\0zTXt\0iTXt\0eXIf";

// The library's state. A jump ends in the method that called the library, where no object with a destructor is alive.
class PngReader {
 public:
  explicit PngReader(std::span<const uint8_t> bytes)
      : rest_(bytes), state_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, [](png_structp, auto) {})) {
    if (state_ != nullptr) info_ = png_create_info_struct(state_);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&state_, &info_, nullptr); }

  bool ReadHeader() {
    if (info_ == nullptr) return Fail("there is no memory to decode it");
    if (setjmp(escape_) != 0) return false;
    png_set_read_fn(state_, this, OnRead);
    png_set_user_limits(state_, kMostPicturePixels, kMostPicturePixels);
    png_set_chunk_malloc_max(state_, kLargestChunk);
    png_set_keep_unknown_chunks(state_, PNG_HANDLE_CHUNK_NEVER, kPassedOver, sizeof kPassedOver / 5);
    png_read_info(state_, info_);
    return true;
  }

  PictureSize size() const { return {png_get_image_height(state_, info_), png_get_image_width(state_, info_)}; }

  // Rows become 8 bits a channel; afterwards channels() says how many there are.
  bool Expand() {
    if (setjmp(escape_) != 0) return false;
    png_set_expand(state_);
    png_set_scale_16(state_);
    png_set_interlace_handling(state_);
    png_read_update_info(state_, info_);
    return true;
  }
  int channels() const { return png_get_channels(state_, info_); }
  size_t row_bytes() const { return png_get_rowbytes(state_, info_); }

  bool interlaced() const { return png_get_interlace_type(state_, info_) != PNG_INTERLACE_NONE; }

  // All rows at once, as an interlaced picture needs, or the next one; then the end.
  bool ReadRows(std::span<png_bytep> rows) {
    if (setjmp(escape_) != 0) return false;
    png_read_image(state_, rows.data());
    return true;
  }
  bool ReadRow(std::span<uint8_t> row) {
    if (setjmp(escape_) != 0) return false;
    png_read_row(state_, row.data(), nullptr);
    return true;
  }
  bool ReadEnd() {
    if (setjmp(escape_) != 0) return false;
    png_read_end(state_, nullptr);
    return true;
  }

  const char* message() const { return message_; }

 private:
  static PngReader& Of(png_voidp pointer) { return *static_cast<PngReader*>(pointer); }

  [[noreturn]] static void OnError(png_structp state, png_const_charp message) {
    PngReader& reader = Of(png_get_error_ptr(state));
    reader.Fail(message);
    std::longjmp(reader.escape_, 1);
  }

  static void OnRead(png_structp state, png_bytep out, size_t count) {
    PngReader& reader = Of(png_get_io_ptr(state));
    if (count > reader.rest_.size()) png_error(state, "it ends in the middle");
    std::memcpy(out, reader.rest_.data(), count);
    reader.rest_ = reader.rest_.subspan(count);
  }

  bool Fail(const char* message) {
    std::snprintf(message_, sizeof message_, "%s", message);
    return false;
  }

  std::span<const uint8_t> rest_;
  png_structp state_;
  png_infop info_ = nullptr;
  std::jmp_buf escape_;
  char message_[128] = "";
};

absl::Status Damaged(const std::string& name, const PngReader& reader) {
  return InvalidArgument("{}: the PNG file is damaged: {}", name, reader.message());
}

// Rows of the file become those of `picture`.
class RowSink {
 public:
  RowSink(const PngReader& reader, Orientation orientation, Picture& picture)
      : stored_(reader.size()),
        stored_channels_(reader.channels()),
        orientation_(orientation),
        picture_(picture),
        row_(static_cast<size_t>(stored_.width * picture.channels)) {}

  void Put(std::span<const uint8_t> raw, int64_t y) {
    ConvertChannels(raw, stored_channels_, row_, static_cast<int>(picture_.channels));
    PlaceRow(row_, y, stored_, orientation_, picture_);
  }

 private:
  const PictureSize stored_;
  const int stored_channels_;
  const Orientation orientation_;
  Picture& picture_;
  std::vector<uint8_t> row_;
};

bool ReadInterlaced(PngReader& reader, RowSink sink) {
  const size_t height = static_cast<size_t>(reader.size().height), row_bytes = reader.row_bytes();
  std::vector<uint8_t> raw(height * row_bytes);
  std::vector<png_bytep> rows(height);
  for (size_t y = 0; y < height; ++y) rows[y] = raw.data() + y * row_bytes;
  if (!reader.ReadRows(rows)) return false;
  for (size_t y = 0; y < height; ++y) sink.Put({rows[y], row_bytes}, static_cast<int64_t>(y));
  return true;
}

// Of a picture that is not interlaced the file's own bytes are held a row at a time.
bool ReadInOrder(PngReader& reader, RowSink sink) {
  std::vector<uint8_t> row(reader.row_bytes());
  const int64_t height = reader.size().height;
  for (int64_t y = 0; y < height; ++y) {
    if (!reader.ReadRow(row)) return false;
    sink.Put(row, y);
  }
  return true;
}

}  // namespace

absl::Status DecodePng(const std::string& name, std::span<const uint8_t> bytes, int channels, int64_t budget,
                       Picture& picture) {
  PngReader reader(bytes);
  if (!reader.ReadHeader()) return Damaged(name, reader);
  const PictureSize size = reader.size();
  const auto file_bytes = static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(CheckPictureSize(name, size, file_bytes + size.pixels() * channels, budget));
  if (!reader.Expand()) return Damaged(name, reader);
  if (reader.interlaced()) {
    const int64_t held = file_bytes + size.pixels() * (channels + reader.channels());
    RETURN_IF_ERROR(CheckPictureSize(name, size, held, budget));
  }
  CHECK(reader.row_bytes() == static_cast<size_t>(size.width * reader.channels()));
  const Orientation orientation = OrientationOfPng(bytes);
  picture.size = Oriented(size, orientation);
  picture.channels = channels;
  picture.pixels.resize(static_cast<size_t>(size.pixels() * channels));
  const RowSink sink(reader, orientation, picture);
  const bool read = reader.interlaced() ? ReadInterlaced(reader, sink) : ReadInOrder(reader, sink);
  return read && reader.ReadEnd() ? absl::OkStatus() : Damaged(name, reader);
}

}  // namespace partita
