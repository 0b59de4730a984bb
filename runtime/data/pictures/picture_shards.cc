#include "runtime/data/pictures/picture_shards.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/tar_index.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostClasses = 1 << 24;
constexpr int64_t kLongestLabel = 16;  // bytes

bool IsPicture(std::string_view extension) {
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".JPG" ||
         extension == ".JPEG" || extension == ".PNG";
}

// NAME and .extension.
struct SplitName {
  std::string_view key, extension;
};
SplitName Split(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t point = name.find('.', slash == std::string_view::npos ? 0 : slash + 1);
  if (point == std::string_view::npos) return {name, ""};
  return {name.substr(0, point), name.substr(point)};
}

absl::StatusOr<int32_t> ReadLabel(const PictureSet& set, const PictureSample& entry, const ScanOptions& options) {
  std::vector<uint8_t> bytes;
  if (entry.size > kLongestLabel)
    return InvalidArgument("{}: found {} bytes, a label is a number", PathOf(set, entry), entry.size);
  RETURN_IF_ERROR(ReadPicture(set, entry, bytes));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const std::optional<int32_t> label = NumberOf<int32_t>(text);
  const bool known = options.labels_below > 0;
  const int64_t below = known ? options.labels_below : kMostClasses;
  if (label && *label >= 0 && *label < below) return *label;
  return InvalidArgument("{}: found '{}', allowed is a label from 0 to {}{}", PathOf(set, entry), std::string(text),
                         below - 1, known ? ", which the graph tells apart" : "");
}

// The entries of one sample.
absl::Status AddSample(std::span<const TarEntry> entries, const ScanOptions& options, BadFiles& bad, PictureSet& set) {
  const auto shard = static_cast<int32_t>(set.shards.size()) - 1;
  const std::string& shard_name = set.shards.back();
  PictureSample picture{shard_name + "/" + std::string(Split(entries[0].name).key), -1, shard, 0, 0}, label = picture;
  bool has_picture = false, has_label = false;
  for (const TarEntry& entry : entries) {
    const std::string_view extension = Split(entry.name).extension;
    if (!IsPicture(extension) && extension != ".cls") continue;
    PictureSample& found = extension == ".cls" ? label : picture;
    (extension == ".cls" ? has_label : has_picture) = true;
    found.name = shard_name + "/" + entry.name;
    found.offset = entry.offset;
    found.size = entry.size;
  }
  if (!has_picture || !has_label) {
    return bad.Add(InvalidArgument("{}: found no {} of this sample", PathOf(set, has_picture ? picture : label),
                                   has_picture ? "label (.cls)" : "picture (.jpg, .jpeg or .png)"));
  }
  const absl::StatusOr<int32_t> number = ReadLabel(set, label, options);
  if (!number.ok()) return bad.Add(number.status());
  picture.label = *number;
  set.samples.push_back(std::move(picture));
  return absl::OkStatus();
}

absl::Status AddShard(const std::string& name, const ScanOptions& options, BadFiles& bad, PictureSet& set) {
  ASSIGN_OR_RETURN(const std::vector<TarEntry> entries, ReadTarIndex(set.folder + "/" + name));
  set.shards.push_back(name);
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    const std::string_view key = Split(entries[begin].name).key;
    while (end < entries.size() && Split(entries[end].name).key == key) ++end;
    RETURN_IF_ERROR(AddSample(std::span(entries).subspan(begin, end - begin), options, bad, set));
  }
  return absl::OkStatus();
}

enum class Purpose { kAny, kTrain, kTest };

Purpose PurposeOf(std::string_view shard) {
  if (shard.starts_with("train")) return Purpose::kTrain;
  return shard.starts_with("test") || shard.starts_with("val") ? Purpose::kTest : Purpose::kAny;
}

absl::Status CheckPurposes(const std::vector<std::string>& shards, const std::string& folder) {
  const auto any = [](const std::string& shard) { return PurposeOf(shard) == Purpose::kAny; };
  const auto first = std::ranges::find_if(shards, any);
  if (first == shards.end() || std::ranges::all_of(shards, any)) return absl::OkStatus();
  return InvalidArgument("{}/{}: found beside archives named train..., test... or val... one that says nothing", folder,
                         *first);
}

void HoldOut(double share, PictureSet& all, PictureSets& sets) {
  sets.train.folder = sets.test.folder = all.folder;
  sets.train.shards = sets.test.shards = all.shards;
  for (PictureSample& sample : all.samples) {
    const Purpose purpose = PurposeOf(all.shards[static_cast<size_t>(sample.shard)]);
    const bool test = purpose == Purpose::kTest || (purpose == Purpose::kAny && IsHeldOut(sample.name, share));
    (test ? sets.test : sets.train).samples.push_back(std::move(sample));
  }
}

absl::Status NameClasses(const PictureSet& all, const std::string& path, bool one_class, PictureSets& sets) {
  int32_t largest = 0;
  for (const PictureSample& sample : all.samples) largest = std::max(largest, sample.label);
  if (largest == 0 && !one_class)
    return InvalidArgument("{}: found the label 0 alone, allowed are 2 or more classes", path);
  for (int32_t label = 0; label <= largest; ++label) sets.classes.push_back(std::to_string(label));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ShardsOf(const std::string& path) {
  std::error_code error;
  if (path.ends_with(".tar") && fs::is_regular_file(path, error)) return {fs::path(path).filename().native()};
  std::vector<std::string> names;
  fs::directory_iterator next(path, error);
  while (!error && next != fs::directory_iterator()) {
    const std::string name = next->path().filename().native();
    if (name.ends_with(".tar") && !name.starts_with('.')) names.push_back(name);
    next.increment(error);
  }
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<PictureSets> ScanPictureShards(const std::string& path, const ScanOptions& options,
                                              DecodeThreads& threads) {
  const std::vector<std::string> shards = ShardsOf(path);
  if (shards.empty()) return InvalidArgument("{}: found no archives (.tar) in it", path);
  const fs::path parent = fs::path(path).parent_path();
  PictureSet all;
  all.folder = !path.ends_with(".tar") ? path : parent.empty() ? "." : parent.native();
  PictureSets sets;
  sets.bad.policy = options.bad_files;
  RETURN_IF_ERROR(CheckPurposes(shards, all.folder));
  for (const std::string& shard : shards) RETURN_IF_ERROR(AddShard(shard, options, sets.bad, all));
  RETURN_IF_ERROR(KeepPictures(all, threads, sets.bad));
  if (all.samples.empty()) {
    return InvalidArgument("{}: found no pictures; {} other files were left out", path, sets.bad.count);
  }
  RETURN_IF_ERROR(NameClasses(all, path, options.one_class, sets));
  HoldOut(options.test_share, all, sets);
  return sets;
}

}  // namespace partita
