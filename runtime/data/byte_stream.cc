#include "runtime/data/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/status.h"

namespace partita {
namespace {

// A stored bit pair at best stands for 258 bytes (RFC 1951), plus what the decoder may still hold.
constexpr int64_t kLargestExpansion = 1032;
constexpr int64_t kWindow = 64 << 10;
// Maximum window, and the gzip wrapper only (zlib.h, inflateInit2).
constexpr int kGzipWindowBits = 15 + 16;

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<int64_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min(out.size(), bytes_.size());
    if (count > 0) std::memcpy(out.data(), bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

  int64_t UpperBound() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

class GzipStream : public ByteStream {
 public:
  GzipStream(const std::string& name, std::string_view bytes) : name_(name), rest_(bytes) {}
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override {
    if (started_) inflateEnd(&state_);
  }

  absl::Status Start() {
    if (inflateInit2(&state_, kGzipWindowBits) != Z_OK) {
      return ResourceExhausted("{}: no memory to decompress it", name_);
    }
    started_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Read(std::span<uint8_t> out) override {
    const size_t wanted = out.size();
    while (!out.empty() && !finished_) {
      ASSIGN_OR_RETURN(const size_t made, Inflate(out));
      out = out.subspan(made);
      offset_ += made;
    }
    return wanted - out.size();
  }

  int64_t UpperBound() const override {
    const int64_t left = rest_.size();
    if (left > (std::numeric_limits<int64_t>::max() - kWindow) / kLargestExpansion) {
      return std::numeric_limits<int64_t>::max();
    }
    return finished_ ? 0 : left * kLargestExpansion + kWindow;
  }

 private:
  absl::StatusOr<size_t> Inflate(std::span<uint8_t> out) {
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    const uInt given = std::min(rest_.size(), kMost);
    const uInt room = std::min(out.size(), kMost);
    // zlib's interface is not const-correct; it does not write to its input.
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    state_.avail_in = given;
    state_.next_out = out.data();
    state_.avail_out = room;
    const int code = inflate(&state_, Z_NO_FLUSH);
    rest_.remove_prefix(given - state_.avail_in);
    const size_t made = room - state_.avail_out;
    if (code == Z_STREAM_END) {
      RETURN_IF_ERROR(NextMember());
      return made;
    }
    if (code == Z_OK) return made;
    const int64_t offset = offset_ + made;
    if (code == Z_BUF_ERROR) {
      return InvalidArgument("{}: the compressed data ends in the middle, after {} uncompressed bytes", name_, offset);
    }
    return InvalidArgument("{}: the compressed data is damaged after {} uncompressed bytes: {}", name_, offset,
                           state_.msg != nullptr ? state_.msg : "no valid deflate stream");
  }

  absl::Status NextMember() {
    finished_ = rest_.empty();
    if (!finished_ && inflateReset(&state_) != Z_OK) return Internal("{}: inflateReset failed", name_);
    return absl::OkStatus();
  }

  std::string name_;
  std::string_view rest_;
  z_stream state_ = {};
  int64_t offset_ = 0;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> OpenByteStream(const std::string& name, std::string_view bytes) {
  if (!bytes.starts_with("\x1f\x8b")) return std::make_unique<PlainStream>(bytes);
  auto stream = std::make_unique<GzipStream>(name, bytes);
  RETURN_IF_ERROR(stream->Start());
  return absl::StatusOr<std::unique_ptr<ByteStream>>(std::move(stream));
}

}  // namespace partita
