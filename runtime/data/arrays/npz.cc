#include "runtime/data/arrays/npz.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/file_kind.h"
#include "runtime/base/file_name.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/npy.h"
#include "runtime/data/byte_stream.h"

namespace partita {
namespace {

constexpr std::string_view kEnding = ".npy";
constexpr int64_t kLargestExpansion = 1032;  // of deflate, as in runtime/data/byte_stream.cc
constexpr int64_t kWindow = 64 << 10;
constexpr unsigned long kEncrypted = 1;  // a bit of a member's flags
constexpr unsigned long kStored = 0, kDeflated = 8;

using Archive = std::unique_ptr<void, decltype([](unzFile file) { unzClose(file); })>;

absl::Status Damaged(const std::string& name) { return InvalidArgument("{}: the zip archive is damaged here", name); }

// The member that the archive stands at, decompressed.
class MemberStream : public ByteStream {
 public:
  MemberStream(std::string name, unzFile archive, int64_t bound)
      : name_(std::move(name)), archive_(archive), bound_(bound) {}

  absl::StatusOr<int64_t> Read(std::span<uint8_t> out) override {
    constexpr size_t kMost = std::numeric_limits<int>::max();
    int64_t done = 0;
    while (!out.empty()) {
      const int got = unzReadCurrentFile(archive_, out.data(), static_cast<unsigned>(std::min(out.size(), kMost)));
      if (got < 0) return Damaged(name_);
      if (got == 0) break;
      out = out.subspan(static_cast<size_t>(got));
      done += got;
    }
    bound_ -= done;
    return done;
  }

  int64_t UpperBound() const override { return std::max<int64_t>(bound_, 0); }

 private:
  const std::string name_;
  const unzFile archive_;
  int64_t bound_;
};

// Of what the member's entry says, what its bytes in the archive can make.
int64_t BoundOf(const unz_file_info64& info) {
  constexpr uint64_t kMost = int64_t{1} << 50;
  const auto packed = static_cast<int64_t>(std::min<uint64_t>(info.compressed_size, kMost));
  const auto plain = static_cast<int64_t>(std::min<uint64_t>(info.uncompressed_size, kMost));
  return std::min(plain, info.compression_method == kStored ? packed : packed * kLargestExpansion + kWindow);
}

// Behind the header at the beginning of the file: 30 bytes, of which the last four are the lengths of a name and of a
// field behind it.
absl::StatusOr<int64_t> FirstData(const std::string& path) {
  constexpr int64_t kHeaderBytes = 30;
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string header;
  RETURN_IF_ERROR(file.Append(std::min(kHeaderBytes, file.size()), header));
  if (static_cast<int64_t>(header.size()) < kHeaderBytes) return Damaged(path);
  const auto byte = [&](size_t at) { return int64_t{static_cast<uint8_t>(header[at])}; };
  return kHeaderBytes + byte(26) + (byte(27) << 8) + byte(28) + (byte(29) << 8);
}

// The archive's last record stands at the end of the file, with a comment of `comment` bytes behind it.
absl::Status CheckEnd(const std::string& path, int64_t comment) {
  constexpr std::string_view kSignature = "PK\5\6";
  constexpr int64_t kRecordBytes = 22;
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  const int64_t begin = file.size() - comment - kRecordBytes;
  std::string found;
  if (begin >= 0) {
    RETURN_IF_ERROR(file.Skip(begin));
    RETURN_IF_ERROR(file.Append(kSignature.size(), found));
  }
  if (found == kSignature) return absl::OkStatus();
  return InvalidArgument(
      "{}: found no end of the zip archive at the end of the file; expected one whole archive and "
      "nothing behind it",
      path);
}

class NpzFile : public ArrayFile {
 public:
  NpzFile(std::string path, Archive archive) : path_(std::move(path)), archive_(std::move(archive)) {}

  absl::Status ReadDirectory() {
    ASSIGN_OR_RETURN(first_data_, FirstData(path_));
    unz_global_info64 info = {};
    if (unzGetGlobalInfo64(archive_.get(), &info) != UNZ_OK) return Damaged(path_);
    RETURN_IF_ERROR(CheckEnd(path_, static_cast<int64_t>(info.size_comment)));
    int code = unzGoToFirstFile(archive_.get());
    while (code == UNZ_OK) {
      RETURN_IF_ERROR(AddMember());
      code = unzGoToNextFile(archive_.get());
    }
    if (code != UNZ_END_OF_LIST_OF_FILE) return Damaged(path_);
    if (!first_known_) {
      return InvalidArgument(
          "{}: found other bytes before the zip archive (several archives one behind the other?); expected one archive",
          path_);
    }
    if (keys_.empty()) {
      return InvalidArgument("{}: is {}; expected an archive with members that end in .npy", path_,
                             KindOfFileAt(path_));
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& keys() const override { return keys_; }

  absl::StatusOr<Array> Read(const std::string& key) override {
    const std::string name = NameOf(path_, key);
    unz_file_info64 info = {};
    if (unzGoToFilePos64(archive_.get(), &places_.at(key)) != UNZ_OK ||
        unzGetCurrentFileInfo64(archive_.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) {
      return Damaged(name);
    }
    if ((info.flag & kEncrypted) != 0) return InvalidArgument("{}: found it encrypted, which is not read", name);
    if (info.compression_method != kStored && info.compression_method != kDeflated) {
      return InvalidArgument("{}: found compression method {} of zip, allowed are 0 (stored) and 8 (deflated)", name,
                             info.compression_method);
    }
    if (unzOpenCurrentFile(archive_.get()) != UNZ_OK) return Damaged(name);
    MemberStream stream(name, archive_.get(), BoundOf(info));
    absl::StatusOr<Array> array = ReadNpy(stream, name);
    const int closed = unzCloseCurrentFile(archive_.get());  // compares the sum, if all was read
    if (array.ok() && closed != UNZ_OK) return Damaged(name);
    return array;
  }

 private:
  // Of several archives in one file the library reads the last one: the directory must know the member at the
  // beginning.
  absl::Status FindFirst() {
    int method = 0, level = 0;
    if (unzOpenCurrentFile2(archive_.get(), &method, &level, /*raw=*/1) != UNZ_OK) return Damaged(path_);
    first_known_ = static_cast<int64_t>(unzGetCurrentFileZStreamPos64(archive_.get())) == first_data_;
    unzCloseCurrentFile(archive_.get());
    return absl::OkStatus();
  }

  absl::Status AddMember() {
    std::string name(std::numeric_limits<uint16_t>::max(), '\0');
    unz64_file_pos place = {};
    unz_file_info64 info = {};
    if (unzGetCurrentFileInfo64(archive_.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK ||
        unzGetFilePos64(archive_.get(), &place) != UNZ_OK) {
      return Damaged(path_);
    }
    name.resize(std::min<size_t>(info.size_filename, name.size()));
    if (!first_known_) RETURN_IF_ERROR(FindFirst());
    if (!HasEnding(name, kEnding) || IsForeignFile(name)) return absl::OkStatus();
    std::string key = name.substr(0, name.size() - kEnding.size());
    if (!places_.emplace(key, place).second) {
      return InvalidArgument("{}: found two arrays {}, allowed is one of a name", path_, Quoted(key));
    }
    keys_.push_back(std::move(key));
    return absl::OkStatus();
  }

  const std::string path_;
  const Archive archive_;
  std::vector<std::string> keys_;
  std::map<std::string, unz64_file_pos> places_;
  int64_t first_data_ = 0;    // where the bytes of the member at the beginning of the file begin
  bool first_known_ = false;  // the directory has it
};

}  // namespace

absl::StatusOr<std::unique_ptr<ArrayFile>> OpenNpz(const std::string& path) {
  Archive archive(unzOpen64(path.c_str()));
  if (archive == nullptr) return InvalidArgument("{}: found no zip archive that is whole", path);
  auto file = std::make_unique<NpzFile>(path, std::move(archive));
  RETURN_IF_ERROR(file->ReadDirectory());
  return absl::StatusOr<std::unique_ptr<ArrayFile>>(std::move(file));
}

}  // namespace partita
