#include "run/data/array_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "graph/proto_io/proto_io_message.h"
#include "graph/value/node_name.h"
#include "proto/data.pb.h"
#include "run/host/log.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/array_file.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr char kTrain[] = "train", kTest[] = "test";
constexpr size_t kMostNames = 240;  // bytes of names in a line

bool IsDescription(const fs::path& path) {
  const fs::path ending = path.extension();
  return ending == ".pbtxt" || ending == ".textproto" || ending == ".pb";
}

// The .npy and .csv files below `folder`, in the order of their names; none if it is no folder.
absl::StatusOr<std::vector<fs::path>> ArraysBelow(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error, unknown;
  if (!fs::exists(fs::symlink_status(folder, unknown))) return paths;
  fs::recursive_directory_iterator at(folder, error);
  if (error == std::errc::not_a_directory) return paths;
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool array = HasEnding(at->path().native(), ".npy") || HasEnding(at->path().native(), ".csv");
    if (array && !IsForeignFile(at->path().lexically_relative(folder).native()) && !at->is_directory(unknown)) {
      paths.push_back(at->path());
    }
  }
  if (error) {
    return InvalidArgument("{}: cannot read the folder, or one below it: {}", folder.string(), error.message());
  }
  std::ranges::sort(paths);
  return paths;
}

bool HasArraysBelow(const fs::path& folder) {
  const absl::StatusOr<std::vector<fs::path>> arrays = ArraysBelow(folder);
  // Tables alone may be anything.
  return arrays.ok() &&
         std::ranges::any_of(*arrays, [](const fs::path& path) { return HasEnding(path.native(), ".npy"); });
}

FoundSet FieldsBelow(const fs::path& folder) {
  std::vector<FieldFile> fields;
  ASSIGN_OR_RETURN(const std::vector<fs::path> paths, ArraysBelow(folder));
  for (const fs::path& path : paths) {
    fs::path name = path.lexically_relative(folder);
    fields.push_back({name.replace_extension().string(), path.string(), "", {}});
  }
  if (fields.empty()) return std::nullopt;
  return fields;
}

absl::StatusOr<ArrayFiles> OfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ArrayFile> file, ArrayFile::Open(path));
  if (file->keys().empty()) {
    const bool is_table = HasEnding(path, ".csv");
    return InvalidArgument(
        "{}: found {}; a data set is a file of arrays train/NAME and test/NAME, a folder of such files, or a "
        "description{}",
        path, is_table ? "a table of labels" : "a single array",
        is_table ? "; numpy.loadtxt and numpy.savez make arrays of columns of text (CSV)" : "");
  }
  std::optional<std::vector<FieldFile>> train, test;
  std::string ignored;
  for (const std::string& key : file->keys()) {
    const size_t slash = key.find('/');
    const std::string set = key.substr(0, slash);
    if (slash == std::string::npos || (set != kTrain && set != kTest)) {
      ignored += (ignored.empty() ? "" : ", ") + Quoted(key);
      continue;
    }
    std::optional<std::vector<FieldFile>>& fields = set == kTrain ? train : test;
    if (!fields) fields.emplace();
    fields->push_back({key.substr(slash + 1), path, key, {}});
  }
  if (!train && !test) {
    return InvalidArgument("{}: arrays {} are of neither set; expected names are train/NAME and test/NAME", path,
                           Printable(ignored, kMostNames));
  }
  if (!ignored.empty()) {
    Tell("{}: ignored are arrays of neither set: {}", path, Printable(ignored, kMostNames));
  }
  return ArrayFiles{std::move(train), std::move(test)};
}

FoundSet OfDescribedSet(const fs::path& path, const std::string& set, const DataSetProto& described) {
  std::vector<FieldFile> fields;
  for (const DataFieldProto& field : described.fields()) {
    if (field.input().empty() || field.file().empty()) {
      return InvalidArgument("{}: {}.fields[{}] has no {}", path.string(), set, fields.size(),
                             field.input().empty() ? "input" : "file");
    }
    ByteScale scale;
    if (field.has_scale()) scale.scale = field.scale();
    scale.mean.assign(field.mean().begin(), field.mean().end());
    scale.deviation.assign(field.deviation().begin(), field.deviation().end());
    fields.push_back({field.input(), (path.parent_path() / field.file()).string(), field.key(), std::move(scale)});
  }
  if (fields.empty()) return InvalidArgument("{}: {} has no fields", path.string(), set);
  return fields;
}

absl::StatusOr<ArrayFiles> OfDescription(const std::string& path) {
  DataProto data;
  RETURN_IF_ERROR(LoadMessage(path, data));
  ArrayFiles files;
  if (data.has_train()) {
    ASSIGN_OR_RETURN(files.train, OfDescribedSet(path, kTrain, data.train()));
  }
  if (data.has_test()) {
    ASSIGN_OR_RETURN(files.test, OfDescribedSet(path, kTest, data.test()));
  }
  return files;
}

}  // namespace

bool HoldsArrays(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::exists(path, error) || fs::path(path).has_extension();
  return HasArraysBelow(fs::path(path) / kTrain) || HasArraysBelow(fs::path(path) / kTest);
}

absl::StatusOr<ArrayFiles> FindArrayFiles(const std::string& path) {
  if (IsDescription(path)) return OfDescription(path);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return OrExhausted(path.c_str(), [&] { return OfFile(path); });
  }
  return ArrayFiles{FieldsBelow(fs::path(path) / kTrain), FieldsBelow(fs::path(path) / kTest)};
}

}  // namespace partita
