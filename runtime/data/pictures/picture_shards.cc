#include "runtime/data/pictures/picture_shards.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "runtime/base/file_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "runtime/data/pictures/tar_index.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostClasses = 1 << 24;
constexpr int64_t kLongestLabel = 16;  // bytes

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
  std::string text(bytes.begin(), bytes.end());
  RETURN_IF_ERROR(TakeOffMark(PathOf(set, entry), text));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  const std::optional<int32_t> label = NumberOf<int32_t>(text);
  const bool known = options.labels_below > 0;
  const int64_t below = known ? options.labels_below : kMostClasses;
  if (label && *label >= 0 && *label < below) return *label;
  return InvalidArgument("{}: found '{}', allowed is a label from 0 to {}{}", PathOf(set, entry), text, below - 1,
                         known ? ", which the graph tells apart" : "");
}

enum class Purpose { kAny, kTrain, kTest };

Purpose PurposeOf(std::string_view shard) {
  if (shard.starts_with("train")) return Purpose::kTrain;
  return shard.starts_with("test") || shard.starts_with("val") ? Purpose::kTest : Purpose::kAny;
}

bool IsTest(Purpose purpose, const std::string& sample, double share) {
  return purpose == Purpose::kTest || (purpose == Purpose::kAny && IsHeldOut(sample, share));
}

// The entries of one sample. Entries of which none is a picture or a label (a README) are no sample.
absl::Status AddSample(std::span<const TarEntry> entries, const ScanOptions& options, BadFiles& bad, PictureSet& set) {
  const auto shard = static_cast<int32_t>(set.shards.size()) - 1;
  const std::string& shard_name = set.shards.back();
  PictureSample picture{shard_name + "/" + std::string(Split(entries[0].name).key), -1, shard, 0, 0}, label = picture;
  bool has_picture = false, has_label = false;
  const TarEntry* broken = nullptr;
  for (const TarEntry& entry : entries) {
    const std::string_view extension = Split(entry.name).extension;
    const bool is_label = HasEnding(extension, ".cls");
    if (!is_label && !HasPictureEnding(extension)) continue;
    PictureSample& found = is_label ? label : picture;
    (is_label ? has_label : has_picture) = true;
    found.name = shard_name + "/" + entry.name;
    found.offset = entry.offset;
    found.size = entry.size;
    if (!entry.link.empty()) broken = &entry;
  }
  if (!has_picture && !has_label) return absl::OkStatus();
  if (!options.Wants(IsTest(PurposeOf(shard_name), picture.name, options.test_share))) return absl::OkStatus();
  if (!has_picture || !has_label) {
    return bad.Add(InvalidArgument("{}: found no {} of this sample", PathOf(set, has_picture ? picture : label),
                                   has_picture ? "label (.cls)" : "picture (.jpg, .jpeg or .png)"));
  }
  if (broken != nullptr) {
    return bad.Add(InvalidArgument("{}/{}/{}: the link leads to '{}', which is no file of the archive", set.folder,
                                   shard_name, broken->name, broken->link));
  }
  const absl::StatusOr<int32_t> number = ReadLabel(set, label, options);
  if (!number.ok()) return bad.Add(number.status());
  picture.label = *number;
  set.samples.push_back(std::move(picture));
  return absl::OkStatus();
}

absl::Status AddShard(const std::string& name, const ScanOptions& options, BadFiles& bad, PictureSet& set) {
  set.shards.push_back(name);
  const Purpose purpose = PurposeOf(name);
  if (purpose != Purpose::kAny && !options.Wants(purpose == Purpose::kTest)) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<TarEntry> entries, ReadTarIndex(set.folder + "/" + name));
  std::erase_if(entries, [](const TarEntry& entry) { return IsForeignFile(entry.name); });
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    const std::string_view key = Split(entries[begin].name).key;
    while (end < entries.size() && Split(entries[end].name).key == key) ++end;
    RETURN_IF_ERROR(AddSample(std::span(entries).subspan(begin, end - begin), options, bad, set));
  }
  return absl::OkStatus();
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
    (IsTest(purpose, sample.name, share) ? sets.test : sets.train).samples.push_back(std::move(sample));
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
  if (HasEnding(path, ".tar") && fs::is_regular_file(path, error)) return {fs::path(path).filename().native()};
  std::vector<std::string> names;
  fs::directory_iterator next(path, error);
  while (!error && next != fs::directory_iterator()) {
    const std::string name = next->path().filename().native();
    if (HasEnding(name, ".tar") && !IsForeignFile(name)) names.push_back(name);
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
  std::error_code unknown;
  const bool is_archive = fs::is_regular_file(path, unknown);  // a folder may be named x.tar as well
  all.folder = !is_archive ? path : parent.empty() ? "." : parent.native();
  PictureSets sets;
  all.decode_bytes = sets.train.decode_bytes = sets.test.decode_bytes = options.decode_bytes;
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
