#include "runtime/data/pictures/picture_folder.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/decode.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostClasses = 1 << 24;

// What is in a folder and not foreign, by name.
absl::StatusOr<std::vector<fs::directory_entry>> Entries(const std::string& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator next(folder, error);
  while (!error && next != fs::directory_iterator()) {
    if (!IsForeignFile(next->path().filename().native())) entries.push_back(*next);
    next.increment(error);
  }
  if (error) return InvalidArgument("{}: cannot read the folder: {}", folder, error.message());
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path().native(); });
  return entries;
}

absl::Status LeadsNowhere(const fs::directory_entry& link) {
  return InvalidArgument("{}: the link leads nowhere", link.path().native());
}

// Names of the folders in a folder, links to folders included. A link that leads nowhere could be a class or a set.
absl::StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder, BadFiles& bad) {
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, Entries(folder));
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;
    const fs::file_status status = entry.status(ignored);
    if (!fs::exists(status)) RETURN_IF_ERROR(bad.Add(LeadsNowhere(entry)));
    if (fs::is_directory(status)) names.push_back(entry.path().filename().native());
  }
  return names;
}

absl::Status AddFile(const fs::directory_entry& entry, const std::string& name, int32_t label, PictureSets& sets,
                     PictureSet& set) {
  std::error_code error;
  const fs::file_status status = entry.status(error);
  const std::string& path = entry.path().native();
  if (!fs::exists(status)) return sets.bad.Add(LeadsNowhere(entry));
  if (fs::is_directory(status)) {
    return sets.bad.Add(InvalidArgument("{}: found a link to a folder, allowed are links to files", path));
  }
  if (!fs::is_regular_file(status)) {
    return sets.bad.Add(InvalidArgument("{}: found neither a file nor a folder", path));
  }
  const uintmax_t size = entry.file_size(error);
  if (error) return sets.bad.Add(InvalidArgument("{}: cannot read its size: {}", path, error.message()));
  set.samples.push_back({name, label, -1, 0, static_cast<int64_t>(size)});
  return absl::OkStatus();
}

// Whether a file of this name belongs to a set that is needed; null: all do.
using Wanted = std::function<bool(const std::string& name)>;

// The files below `set.folder`/`name`, which may be empty.
absl::Status AddFiles(const std::string& name, int32_t label, const Wanted& wanted, PictureSets& sets,
                      PictureSet& set) {
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, Entries(set.folder + "/" + name));
  for (const fs::directory_entry& entry : entries) {
    const std::string inner = (name.empty() ? "" : name + "/") + entry.path().filename().native();
    std::error_code ignored;
    if (fs::is_directory(entry.symlink_status(ignored))) {
      RETURN_IF_ERROR(AddFiles(inner, label, wanted, sets, set));
    } else if (!wanted || wanted(inner)) {
      RETURN_IF_ERROR(AddFile(entry, inner, label, sets, set));
    }
  }
  return absl::OkStatus();
}

absl::Status AddClasses(const std::vector<std::string>& names, const char* who, const Wanted& wanted,
                        DecodeThreads& threads, PictureSets& sets, PictureSet& set) {
  std::map<std::string, int32_t> labels;
  for (const std::string& name : sets.classes) labels.emplace(name, static_cast<int32_t>(labels.size()));
  for (const std::string& name : names) {
    const auto label = labels.find(name);
    if (label == labels.end()) return InvalidArgument("{}/{}: found a class that {} lacks", set.folder, name, who);
    RETURN_IF_ERROR(AddFiles(name, label->second, wanted, sets, set));
  }
  RETURN_IF_ERROR(KeepPictures(set, threads, sets.bad));
  if (wanted) return absl::OkStatus();  // of a part a class may have none
  std::vector<bool> seen(sets.classes.size());
  for (const PictureSample& sample : set.samples) seen[static_cast<size_t>(sample.label)] = true;
  for (const std::string& name : names) {
    if (seen[static_cast<size_t>(labels[name])]) continue;
    RETURN_IF_ERROR(sets.bad.Add(InvalidArgument("{}/{}: found a class without pictures", set.folder, name)));
  }
  return absl::OkStatus();
}

absl::Status CheckClasses(const std::vector<std::string>& classes, const std::string& folder) {
  if (classes.empty()) {
    return InvalidArgument("{}: found no folders in it; each class of pictures is one, named as the class", folder);
  }
  if (classes.size() == 1) {
    return InvalidArgument("{}: found one class, '{}', allowed are 2 or more", folder, classes[0]);
  }
  if (classes.size() > kMostClasses) {
    return InvalidArgument("{}: found {} classes, allowed are at most {}", folder, classes.size(), kMostClasses);
  }
  return absl::OkStatus();
}

// The folder's classes; if none are known yet, they are all that there are.
absl::StatusOr<std::vector<std::string>> ClassesIn(const std::string& folder, PictureSets& sets) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, FoldersIn(folder, sets.bad));
  if (!sets.classes.empty() && !names.empty()) return names;
  RETURN_IF_ERROR(CheckClasses(names, folder));
  sets.classes = names;
  return names;
}

absl::StatusOr<PictureSets> ScanLoosePictures(const std::string& folder, const ScanOptions& options,
                                              DecodeThreads& threads) {
  PictureSets sets;
  sets.bad.policy = options.bad_files;
  sets.test.folder = folder;
  sets.test.decode_bytes = options.decode_bytes;
  RETURN_IF_ERROR(AddFiles("", 0, nullptr, sets, sets.test));
  RETURN_IF_ERROR(KeepPictures(sets.test, threads, sets.bad));
  if (!sets.test.samples.empty()) return sets;
  return InvalidArgument("{}: found no pictures; {} other files were left out", folder, sets.bad.count);
}

// One file, which is in no class's folder.
absl::StatusOr<PictureSets> ScanPictureFile(const std::string& path, const ScanOptions& options,
                                            DecodeThreads& threads) {
  if (options.labelled) {
    return InvalidArgument("{}: found one picture; expected a folder of classes, because a picture alone has no class",
                           path);
  }
  PictureSets sets;
  sets.bad.policy = BadFilePolicy::kSkip;
  const fs::path file = path;
  sets.test.folder = file.has_parent_path() ? file.parent_path().native() : ".";
  sets.test.decode_bytes = options.decode_bytes;
  RETURN_IF_ERROR(AddFile(fs::directory_entry(file), file.filename().native(), 0, sets, sets.test));
  RETURN_IF_ERROR(KeepPictures(sets.test, threads, sets.bad));
  if (sets.test.samples.empty()) return InvalidArgument("{}", sets.bad.first[0]);  // under every policy
  return sets;
}

void HoldOut(double share, PictureSets& sets) {
  sets.test.folder = sets.train.folder;
  std::vector<PictureSample> rest;
  for (PictureSample& sample : sets.train.samples) {
    (IsHeldOut(sample.name, share) ? sets.test.samples : rest).push_back(std::move(sample));
  }
  sets.train.samples = std::move(rest);
}

}  // namespace

bool HasLoosePictures(const std::string& folder) {
  const absl::StatusOr<std::vector<fs::directory_entry>> entries = Entries(folder);
  return entries.ok() && std::ranges::any_of(*entries, [](const fs::directory_entry& entry) {
           std::error_code ignored;
           return HasPictureEnding(entry.path().native()) && !entry.is_directory(ignored);
         });
}

bool IsHeldOut(const std::string& name, double share) {
  // 53 bits are a double exactly.
  return static_cast<double>(XXH3_64bits(name.data(), name.size()) >> 11) < share * 0x1p53;
}

absl::Status KeepPictures(PictureSet& set, DecodeThreads& threads, BadFiles& bad) {
  std::vector<absl::Status> found(set.samples.size());
  RETURN_IF_ERROR(threads.Run(static_cast<int64_t>(found.size()), [&](int64_t i) {
    const PictureSample& sample = set.samples[static_cast<size_t>(i)];
    absl::Status& status = found[static_cast<size_t>(i)];
    std::vector<uint8_t> bytes;
    if (sample.size > kLargestPictureFile) {
      status = InvalidArgument("{}: found {} bytes, allowed are at most {}", PathOf(set, sample), sample.size,
                               kLargestPictureFile);
    } else {
      status = ReadPictureStart(set, sample, kPictureHeadBytes, bytes);
    }
    if (status.ok()) status = ReadPictureHead(PathOf(set, sample), bytes, set.decode_bytes).status();
    return absl::OkStatus();
  }));
  return set.Keep(found, bad);
}

absl::StatusOr<PictureSets> ScanPictureFolder(const std::string& folder, const ScanOptions& options,
                                              DecodeThreads& threads) {
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) return ScanPictureFile(folder, options, threads);
  PictureSets sets;
  sets.bad.policy = options.bad_files;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FoldersIn(folder, sets.bad));
  const auto has = [&](const char* name) { return std::ranges::binary_search(names, name); };
  std::string test;
  for (const char* name : {"validation", "val", "test"}) {
    if (has(name)) test = name;
  }
  const std::string tests = test.empty() ? folder : folder + "/" + test;
  if (!options.labelled && HasLoosePictures(tests)) return ScanLoosePictures(tests, options, threads);
  sets.classes = options.classes;
  sets.train.decode_bytes = sets.test.decode_bytes = options.decode_bytes;
  const char* const who = options.classes.empty() ? "training" : "the training of the model that is loaded";
  const bool divided = has("train") || !test.empty();
  sets.train.folder = has("train") ? folder + "/train" : folder;
  // Without a test folder the test set is a share of the training folder.
  const bool held_out = test.empty();
  Wanted wanted;
  if (held_out && !(options.train && options.test)) {
    wanted = [&](const std::string& name) { return options.Wants(IsHeldOut(name, options.test_share)); };
  }
  const bool opened = options.train || held_out;
  // The names of classes are needed even where no training picture is, unless a model has them.
  if ((has("train") || !divided) && (opened || sets.classes.empty())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesIn(sets.train.folder, sets));
    if (opened) RETURN_IF_ERROR(AddClasses(classes, who, wanted, threads, sets, sets.train));
  }
  if (held_out) {
    HoldOut(options.test_share, sets);
  } else if (options.test) {
    sets.test.folder = tests;
    ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesIn(tests, sets));
    RETURN_IF_ERROR(AddClasses(classes, who, nullptr, threads, sets, sets.test));
  }
  if (!sets.train.samples.empty() || !sets.test.samples.empty()) return sets;
  return InvalidArgument("{}: found no pictures; {} other files were left out", folder, sets.bad.count);
}

}  // namespace partita
