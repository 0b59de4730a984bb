#include "runtime/data/arrays/array_set.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/array_file.h"

namespace partita {
namespace {

using OpenFiles = std::map<std::string, std::unique_ptr<ArrayFile>>;

absl::Status CheckNames(const std::string& set, const std::vector<FieldFile>& files,
                        const std::vector<WantedField>& wanted) {
  std::vector<std::string> given;
  for (const FieldFile& file : files) {
    if (std::ranges::find(given, file.field) != given.end()) {
      return InvalidArgument("{}: field {} is given twice", set, Quoted(file.field));
    }
    given.push_back(file.field);
  }
  for (const WantedField& each : wanted) {
    const Field& field = each.field;
    if (!each.needed || std::ranges::find(given, field.name) != given.end()) continue;
    const std::optional<std::string> nearest = NearestName(field.name, given);
    return InvalidArgument("{}: no field fills the graph's input {}, {}{} in each row; given are: {}{}", set,
                           Quoted(field.name), Name(field.dtype), ToString(field.row), fmt::join(given, ", "),
                           nearest ? fmt::format("; did you mean {}?", Quoted(*nearest)) : "");
  }
  return absl::OkStatus();
}

absl::StatusOr<ArrayFile*> OpenOnce(const std::string& path, OpenFiles& open) {
  std::unique_ptr<ArrayFile>& file = open[path];
  if (file == nullptr) {
    ASSIGN_OR_RETURN(file, ArrayFile::Open(path));
  }
  return file.get();
}

// What the array is called in its file: by default as the field, where arrays have names.
absl::StatusOr<std::string> KeyOf(const FieldFile& file, const std::vector<std::string>& keys) {
  if (keys.empty() && file.key.empty()) return std::string();
  if (keys.empty()) {
    return InvalidArgument("{}: field {}: found one array without a key, but the key {} is given", file.path,
                           Quoted(file.field), Quoted(file.key));
  }
  std::string key = file.key.empty() ? file.field : file.key;
  if (std::ranges::find(keys, key) != keys.end()) return key;
  return InvalidArgument("{}: field {}: there is no array {}{}", file.path, Quoted(file.field), Quoted(key),
                         Suggestion(key, keys));
}

// `name`: set to what messages call the array.
absl::StatusOr<ArrayField> ReadField(const FieldFile& file, const WantedField& wanted, OpenFiles& open,
                                     std::string& name) {
  return OrExhausted(file.path.c_str(), [&]() -> absl::StatusOr<ArrayField> {
    ASSIGN_OR_RETURN(ArrayFile* const arrays, OpenOnce(file.path, open));
    ASSIGN_OR_RETURN(const std::string key, KeyOf(file, arrays->keys()));
    name = NameOf(file.path, key);
    ASSIGN_OR_RETURN(Array array, arrays->Read(key));
    return MakeArrayField(name, std::move(array), wanted, file.scale);
  });
}

}  // namespace

absl::StatusOr<ArraySet> ReadArraySet(const std::string& set, const std::vector<FieldFile>& files,
                                      const std::vector<WantedField>& wanted) {
  RETURN_IF_ERROR(CheckNames(set, files, wanted));
  ArraySet read;
  std::vector<ArrayField>& fields = read.fields;
  for (const FieldFile& file : files) {
    const auto takes = [&](const WantedField& each) { return each.field.name == file.field; };
    if (std::ranges::none_of(wanted, takes)) read.ignored.push_back(file.field);
  }
  std::string first;  // array
  OpenFiles open;
  for (const WantedField& want : wanted) {
    if (!want.needed) continue;
    const FieldFile& file = *std::ranges::find(files, want.field.name, &FieldFile::field);
    std::string name;
    ASSIGN_OR_RETURN(ArrayField field, ReadField(file, want, open, name));
    if (fields.empty()) first = name;
    if (!fields.empty() && field.rows != fields[0].rows) {
      return InvalidArgument("{}: field {}: found {}, field {} has {} ({})", name, Quoted(file.field),
                             Counted(field.rows, "row"), Quoted(fields[0].field.name), fields[0].rows, first);
    }
    fields.push_back(std::move(field));
  }
  return read;
}

}  // namespace partita
