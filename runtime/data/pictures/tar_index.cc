#include "runtime/data/pictures/tar_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kLargestExtension = 1 << 20;  // bytes of a pax header or a GNU name
constexpr int kMostLinks = 40;                  // that lead from one to the next, as Linux has it

using Block = std::array<char, kBlock>;

// A field of a header: where it begins, how long it is (POSIX.1-2017, pax, "ustar Interchange Format").
struct Place {
  size_t begin, size;
};
constexpr Place kName = {0, 100}, kSize = {124, 12}, kChecksum = {148, 8}, kLink = {157, 100}, kPrefix = {345, 155};
constexpr size_t kType = 156;

std::string_view Text(const Block& block, Place place) {
  const std::string_view text(block.data() + place.begin, place.size);
  return text.substr(0, text.find('\0'));
}

// Octal digits with blanks around, or, as GNU writes what is too large for them, bytes behind a set bit.
std::optional<int64_t> Number(const Block& block, Place place) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block.data()) + place.begin;
  if (bytes[0] == 0x80) {
    uint64_t value = 0;
    if (std::any_of(bytes + 1, bytes + place.size - 8, [](uint8_t byte) { return byte != 0; })) return std::nullopt;
    for (size_t i = place.size - 8; i < place.size; ++i) value = value << 8 | bytes[i];
    return value >> 62 == 0 ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt;
  }
  std::string_view digits = Text(block, place);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return std::nullopt;
  return value;
}

// The sum of all bytes, those of the sum itself taken as blanks.
bool IsHeader(const Block& block) {
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool inside = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.size;
    sum += inside ? ' ' : static_cast<uint8_t>(block[i]);
  }
  return Number(block, kChecksum) == sum;
}

// What extended headers say of the entry behind them.
struct Extension {
  std::optional<std::string> name, link;
  std::optional<int64_t> size;
};

// Records "LENGTH KEY=VALUE\n", whose length counts itself.
bool ReadPax(std::string_view records, Extension& extension) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const size_t begin = static_cast<size_t>(end - records.data()) + 1;
    if (error != std::errc() || length <= begin || length > records.size() || records[length - 1] != '\n') return false;
    const std::string_view record = records.substr(begin, length - 1 - begin);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") extension.name = std::string(value);
    if (key == "linkpath") extension.link = std::string(value);
    if (key == "size") {
      int64_t size = -1;
      std::from_chars(value.data(), value.data() + value.size(), size);
      if (size < 0) return false;
      extension.size = size;
    }
    records.remove_prefix(length);
  }
  return true;
}

// "./a//b/../c" is "a/c".
std::string Normal(const std::string& path) {
  const std::string normal = std::filesystem::path(path).lexically_normal().native();
  return normal.starts_with("./") ? normal.substr(2) : normal;
}

class TarReader {
 public:
  TarReader(const std::string& path, int fd) : path_(path), fd_(fd) {}
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;
  ~TarReader() { ::close(fd_); }

  absl::StatusOr<std::vector<TarEntry>> Read() {
    struct stat info;
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return InvalidArgument("{}: found no file", path_);
    file_size_ = info.st_size;
    bool ended = false;  // by blocks of zeros, behind which a further archive may begin
    while (at_ < file_size_ || !ended) {
      Block block = {};
      const int64_t there = std::min(kBlock, file_size_ - at_);
      ASSIGN_OR_RETURN(const bool whole, ReadAt(at_, block.data(), there));
      const bool zeros = std::ranges::all_of(block, [](char byte) { return byte == 0; });
      if (!whole || (there < kBlock && !(zeros && ended))) {
        return Bad("its end, allowed is one behind two blocks of zeros");
      }
      if (zeros) {
        ended = true;
        extension_ = {};
        SkipHole();
      } else {
        ended = false;
        RETURN_IF_ERROR(ReadEntry(block));
      }
    }
    FollowLinks();
    return std::move(entries_);
  }

 private:
  absl::Status Bad(const std::string& found) const {
    return InvalidArgument("{}: offset {}: found {}", path_, at_, found);
  }

  // False: the file ends before.
  absl::StatusOr<bool> ReadAt(int64_t offset, char* out, int64_t count) const {
    while (count > 0) {
      const ssize_t got = ::pread(fd_, out, static_cast<size_t>(count), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return InvalidArgument("{}: cannot read: {}", path_, std::generic_category().message(errno));
      if (got == 0) return false;
      out += got;
      offset += got;
      count -= got;
    }
    return true;
  }

  // Goes over a block of zeros, and over all zeros behind it that the file system does not store.
  void SkipHole() {
    at_ += kBlock;
    const off_t data = ::lseek(fd_, at_, SEEK_DATA);
    if (data >= 0) at_ = std::max(at_, static_cast<int64_t>(data) / kBlock * kBlock);
    if (data < 0 && errno == ENXIO) at_ = file_size_;
  }

  absl::Status ReadEntry(const Block& block) {
    if (at_ == 0 && std::string_view(block.data(), 2) == "\x1f\x8b") {
      return Bad("compressed data, allowed is a plain tar archive, whose parts can be read in any order");
    }
    const std::optional<int64_t> stored = Number(block, kSize);
    if (!IsHeader(block) || !stored) return Bad("no header of a tar archive");
    const char type = block[kType];
    const bool extends = type == 'x' || type == 'L' || type == 'K';
    // Some writers give a link the size of its file, whose bytes do not follow.
    const bool links = type == '1' || type == '2';
    const int64_t size = extends ? *stored : extension_.size.value_or(links ? 0 : *stored);
    const int64_t begin = at_ + kBlock;
    if (size > file_size_ - begin)
      return Bad(
          fmt::format("an entry of {} bytes, the archive has {} more", size, std::max<int64_t>(0, file_size_ - begin)));
    if (extends) {
      RETURN_IF_ERROR(ReadExtension(type, begin, size));
    } else {
      AddEntry(block, begin, size);
      // Of the headers that speak of others only what comes behind them is meant.
      if (type != 'g') extension_ = {};
    }
    at_ = begin + (size + kBlock - 1) / kBlock * kBlock;
    return absl::OkStatus();
  }

  absl::Status ReadExtension(char type, int64_t begin, int64_t size) {
    if (size > kLargestExtension) return Bad(fmt::format("a name of {} bytes", size));
    std::string text(static_cast<size_t>(size), '\0');
    RETURN_IF_ERROR(ReadAt(begin, text.data(), size).status());
    if (type == 'L' || type == 'K') {
      (type == 'L' ? extension_.name : extension_.link) = text.substr(0, text.find('\0'));
    } else if (!ReadPax(text, extension_)) {
      return Bad("no records of an extended header");
    }
    return absl::OkStatus();
  }

  void AddEntry(const Block& block, int64_t begin, int64_t size) {
    const char type = block[kType];
    const bool file = type == '0' || type == '\0' || type == '7', hard_link = type == '1', soft_link = type == '2';
    if (!file && !hard_link && !soft_link) return;
    std::string name = NameOf(block);
    if (name.ends_with('/')) return;  // a folder, as the oldest archives have it
    if (file) {
      entries_.push_back({std::move(name), begin, size, ""});
      return;
    }
    const std::string target = extension_.link.value_or(std::string(Text(block, kLink)));
    const size_t slash = name.rfind('/');
    const bool beside = soft_link && slash != std::string::npos && !target.starts_with('/');
    entries_.push_back({name, 0, 0, beside ? name.substr(0, slash + 1) + target : target});
  }

  // Gives links the bytes of the file that they lead to. Of two files of one name a link means the one before it, as
  // whoever unpacks the archive finds it, or else the first behind it.
  void FollowLinks() {
    std::map<std::string, std::vector<size_t>> places;
    std::vector<size_t> followed;
    for (size_t i = 0; i < entries_.size(); ++i) places[Normal(entries_[i].name)].push_back(i);
    for (size_t i = 0; i < entries_.size(); ++i) {
      size_t at = i;
      for (int links = 0; links < kMostLinks && !entries_[at].link.empty(); ++links) {
        const auto found = places.find(Normal(entries_[at].link));
        if (found == places.end()) break;
        const auto behind = std::ranges::lower_bound(found->second, at);
        at = behind == found->second.begin() ? *behind : *(behind - 1);
      }
      if (!entries_[at].link.empty()) continue;
      entries_[i].offset = entries_[at].offset;
      entries_[i].size = entries_[at].size;
      if (at != i) followed.push_back(i);
    }
    for (const size_t i : followed) entries_[i].link.clear();
  }

  std::string NameOf(const Block& block) const {
    if (extension_.name) return *extension_.name;
    const bool ustar = std::memcmp(block.data() + 257, "ustar\0", 6) == 0;
    const std::string prefix(ustar ? Text(block, kPrefix) : "");
    return (prefix.empty() ? "" : prefix + "/") + std::string(Text(block, kName));
  }

  const std::string path_;
  const int fd_;
  int64_t file_size_ = 0;
  int64_t at_ = 0;
  Extension extension_;
  std::vector<TarEntry> entries_;
};

}  // namespace

absl::StatusOr<std::vector<TarEntry>> ReadTarIndex(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && LacksDescriptors(errno)) return NoDescriptors(path + ": cannot open");
  if (fd < 0) return InvalidArgument("{}: cannot open: {}", path, std::generic_category().message(errno));
  return TarReader(path, fd).Read();
}

}  // namespace partita
