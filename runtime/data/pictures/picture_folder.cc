#include "runtime/data/pictures/picture_folder.h"

#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "runtime/base/status.h"
#include "runtime/data/pictures/codec/decode.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostClasses = 1 << 24;

bool IsHidden(const fs::directory_entry& entry) { return entry.path().filename().native().starts_with('.'); }

// What is in a folder and not hidden, by name.
absl::StatusOr<std::vector<fs::directory_entry>> Entries(const std::string& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator next(folder, error);
  while (!error && next != fs::directory_iterator()) {
    if (!IsHidden(*next)) entries.push_back(*next);
    next.increment(error);
  }
  if (error) return InvalidArgument("{}: cannot read the folder: {}", folder, error.message());
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path().native(); });
  return entries;
}

// Names of the folders in a folder, links to folders included.
absl::StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, Entries(folder));
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) names.push_back(entry.path().filename().native());
  }
  return names;
}

absl::Status AddFile(const fs::directory_entry& entry, const std::string& name, int32_t label, PictureSets& sets,
                     PictureSet& set) {
  std::error_code error;
  const fs::file_status status = entry.status(error);
  const std::string& path = entry.path().native();
  if (!fs::exists(status)) return sets.bad.Add(InvalidArgument("{}: the link leads nowhere", path));
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

// All files below `set.folder`/`name`, which may be empty.
absl::Status AddFiles(const std::string& name, int32_t label, PictureSets& sets, PictureSet& set) {
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, Entries(set.folder + "/" + name));
  for (const fs::directory_entry& entry : entries) {
    const std::string inner = (name.empty() ? "" : name + "/") + entry.path().filename().native();
    std::error_code ignored;
    const bool deeper = fs::is_directory(entry.symlink_status(ignored));
    RETURN_IF_ERROR(deeper ? AddFiles(inner, label, sets, set) : AddFile(entry, inner, label, sets, set));
  }
  return absl::OkStatus();
}

absl::Status AddClasses(const std::vector<std::string>& names, const char* who, DecodeThreads& threads,
                        PictureSets& sets, PictureSet& set) {
  std::map<std::string, int32_t> labels;
  for (const std::string& name : sets.classes) labels.emplace(name, static_cast<int32_t>(labels.size()));
  for (const std::string& name : names) {
    const auto label = labels.find(name);
    if (label == labels.end()) return InvalidArgument("{}/{}: found a class that {} lacks", set.folder, name, who);
    RETURN_IF_ERROR(AddFiles(name, label->second, sets, set));
  }
  RETURN_IF_ERROR(KeepPictures(set, threads, sets.bad));
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
  ASSIGN_OR_RETURN(std::vector<std::string> names, FoldersIn(folder));
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
  RETURN_IF_ERROR(AddFiles("", 0, sets, sets.test));
  RETURN_IF_ERROR(KeepPictures(sets.test, threads, sets.bad));
  if (!sets.test.samples.empty()) return sets;
  return InvalidArgument("{}: found no pictures; {} other files were left out", folder, sets.bad.count);
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
           std::string ending = entry.path().extension().string();
           for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
           std::error_code ignored;
           return (ending == ".png" || ending == ".jpg" || ending == ".jpeg") && !entry.is_directory(ignored);
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
    if (status.ok()) status = ReadPictureHead(PathOf(set, sample), bytes).status();
    return absl::OkStatus();
  }));
  return set.Keep(found, bad);
}

absl::StatusOr<PictureSets> ScanPictureFolder(const std::string& folder, const ScanOptions& options,
                                              DecodeThreads& threads) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FoldersIn(folder));
  const auto has = [&](const char* name) { return std::ranges::binary_search(names, name); };
  std::string test;
  for (const char* name : {"validation", "val", "test"}) {
    if (has(name)) test = name;
  }
  const std::string tests = test.empty() ? folder : folder + "/" + test;
  if (!options.labelled && HasLoosePictures(tests)) return ScanLoosePictures(tests, options, threads);
  PictureSets sets;
  sets.bad.policy = options.bad_files;
  sets.classes = options.classes;
  const char* const who = options.classes.empty() ? "training" : "the training of the model that is loaded";
  const bool divided = has("train") || !test.empty();
  sets.train.folder = has("train") ? folder + "/train" : folder;
  if (has("train") || !divided) {
    ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesIn(sets.train.folder, sets));
    RETURN_IF_ERROR(AddClasses(classes, who, threads, sets, sets.train));
  }
  if (test.empty()) {
    HoldOut(options.test_share, sets);
  } else {
    sets.test.folder = tests;
    ASSIGN_OR_RETURN(const std::vector<std::string> classes, ClassesIn(tests, sets));
    RETURN_IF_ERROR(AddClasses(classes, who, threads, sets, sets.test));
  }
  if (!sets.train.samples.empty() || !sets.test.samples.empty()) return sets;
  return InvalidArgument("{}: found no pictures; {} other files were left out", folder, sets.bad.count);
}

}  // namespace partita
