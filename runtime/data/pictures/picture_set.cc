#include "runtime/data/pictures/picture_set.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string FileOf(const PictureSet& set, const PictureSample& sample) {
  return set.folder + "/" + (sample.shard < 0 ? sample.name : set.shards[static_cast<size_t>(sample.shard)]);
}

absl::Status ReadAt(int fd, int64_t offset, std::vector<uint8_t>& bytes, const std::string& name) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return InvalidArgument("{}: cannot read: {}", name, std::generic_category().message(errno));
    if (got == 0) return InvalidArgument("{}: found its end after {} bytes of {}", name, done, bytes.size());
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PictureSet::Keep(const std::vector<absl::Status>& found, BadFiles& bad) {
  for (const absl::Status& status : found) {
    if (!status.ok()) RETURN_IF_ERROR(bad.Add(status));
  }
  std::vector<PictureSample> kept;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].ok()) kept.push_back(std::move(samples[i]));
  }
  samples = std::move(kept);
  return absl::OkStatus();
}

std::string PathOf(const PictureSet& set, const PictureSample& sample) { return set.folder + "/" + sample.name; }

absl::Status ReadPictureStart(const PictureSet& set, const PictureSample& sample, int64_t count,
                              std::vector<uint8_t>& bytes) {
  bytes.resize(static_cast<size_t>(std::min(count, sample.size)));
  const int fd = ::open(FileOf(set, sample).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && LacksDescriptors(errno)) return NoDescriptors(FileOf(set, sample) + ": cannot open");
  if (fd < 0) {
    return InvalidArgument("{}: cannot open: {}", FileOf(set, sample), std::generic_category().message(errno));
  }
  const absl::Status status = ReadAt(fd, sample.offset, bytes, PathOf(set, sample));
  ::close(fd);
  return status;
}

absl::Status ReadPicture(const PictureSet& set, const PictureSample& sample, std::vector<uint8_t>& bytes) {
  return ReadPictureStart(set, sample, sample.size, bytes);
}

uint64_t Digest(const PictureSet& set) {
  uint64_t hash = 0;
  for (const PictureSample& sample : set.samples) {
    const int64_t numbers[] = {sample.label, sample.size};
    hash = XXH3_64bits_withSeed(sample.name.data(), sample.name.size(), hash);
    hash = XXH3_64bits_withSeed(numbers, sizeof numbers, hash);
  }
  return hash;
}

}  // namespace partita
