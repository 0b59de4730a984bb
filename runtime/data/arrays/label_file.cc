#include "runtime/data/arrays/label_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargest = int64_t{1} << 32, kMostClasses = 1 << 20;  // bytes of a file
constexpr char kClasses[] = "classes.txt";

std::string_view NextLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view Stripped(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// The values of a line of CSV; nothing: a quote is not closed, or something follows it.
std::optional<std::vector<std::string>> ValuesOf(std::string_view line) {
  std::vector<std::string> values(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ',') {
      values.emplace_back();
    } else if (line[i] != '"' || !Stripped(values.back()).empty()) {
      values.back() += line[i];
    } else {
      const size_t end = line.find('"', i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      values.back() = line.substr(i + 1, end - i - 1);
      i = std::min(line.find(',', end), line.size()) - 1;
      if (!Stripped(line.substr(end + 1, i - end)).empty()) return std::nullopt;
    }
  }
  for (std::string& value : values) value = Stripped(value);
  return values;
}

struct Classes {
  std::string path;
  std::vector<std::string> names;
  std::map<std::string, size_t, std::less<>> places;

  absl::StatusOr<size_t> PlaceOf(const std::string& where, const std::string& name) const {
    const auto found = places.find(name);
    if (found != places.end()) return found->second;
    return InvalidArgument("{}: found {}, which is no class of {}{}", where, Quoted(name), path,
                           Printable(Suggestion(name, names), 400));
  }
};

absl::StatusOr<Classes> ReadClasses(const std::string& table) {
  const fs::path folder = fs::path(table).parent_path();
  std::error_code error;
  Classes classes;
  classes.path = (folder / kClasses).string();
  if (!fs::exists(classes.path, error)) classes.path = (folder.parent_path() / kClasses).string();
  if (!fs::exists(classes.path, error)) {
    return InvalidArgument(
        "{}: found no {} beside it or in the folder above; expected the names of the classes, one "
        "a line, in the order of the graph's outputs",
        table, kClasses);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(classes.path, kLargest));
  std::string_view rest = text;
  for (int64_t line = 1; !rest.empty(); ++line) {
    const std::string name(Stripped(NextLine(rest)));
    if (name.empty() || !classes.places.emplace(name, classes.names.size()).second) {
      return InvalidArgument("{}: line {}: found {}; expected the name of another class", classes.path, line,
                             Quoted(name));
    }
    classes.names.push_back(name);
  }
  if (classes.names.empty() || static_cast<int64_t>(classes.names.size()) > kMostClasses) {
    return InvalidArgument("{}: found {} classes; expected 1 to {}", classes.path, classes.names.size(), kMostClasses);
  }
  return classes;
}

// A row of a table: 1 at the classes that it names.
absl::Status AddNames(const std::string& where, const Classes& classes, std::string_view list, uint8_t* row) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(';'), list.size());
    const std::string name(Stripped(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name.empty()) continue;
    ASSIGN_OR_RETURN(const size_t place, classes.PlaceOf(where, name));
    if (row[place] != 0) return InvalidArgument("{}: class {} is there twice; once is allowed", where, Quoted(name));
    row[place] = 1;
  }
  return absl::OkStatus();
}

absl::Status AddValues(const std::string& where, const std::vector<size_t>& places,
                       const std::vector<std::string>& values, uint8_t* row) {
  for (size_t column = 0; column < places.size(); ++column) {
    if (values[column] != "0" && values[column] != "1") {
      return InvalidArgument("{}: column {}: found {}; expected 0 or 1", where, column + 1, Quoted(values[column]));
    }
    row[places[column]] = values[column] == "1" ? 1 : 0;
  }
  return absl::OkStatus();
}

// The class of each column.
absl::StatusOr<std::vector<size_t>> PlacesOf(const std::string& where, const Classes& classes,
                                             const std::vector<std::string>& header) {
  std::vector<size_t> places;
  for (const std::string& name : header) {
    ASSIGN_OR_RETURN(const size_t place, classes.PlaceOf(where, name));
    if (std::ranges::find(places, place) != places.end()) {
      return InvalidArgument("{}: class {} is there twice; once is allowed", where, Quoted(name));
    }
    places.push_back(place);
  }
  for (size_t place = 0; place < classes.names.size(); ++place) {
    if (std::ranges::find(places, place) != places.end()) continue;
    return InvalidArgument("{}: class {} of {} has no column", where, Quoted(classes.names[place]), classes.path);
  }
  return places;
}

}  // namespace

absl::StatusOr<Array> ReadLabels(const std::string& path) {
  ASSIGN_OR_RETURN(const Classes classes, ReadClasses(path));
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargest));
  const size_t width = classes.names.size();
  std::string_view rest = text;
  std::vector<size_t> places;  // of columns; none: rows are lists
  Array labels{ElementType::kBool, {0, static_cast<int64_t>(width)}, {}};
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string where = fmt::format("{}: line {}", path, number);
    const std::optional<std::vector<std::string>> values = ValuesOf(NextLine(rest));
    if (!values) return InvalidArgument("{}: a quote is not closed, or something follows it", where);
    if (number == 1) {
      if (values->size() > 1) {
        ASSIGN_OR_RETURN(places, PlacesOf(where, classes, *values));
      }
      continue;
    }
    if (values->size() != std::max<size_t>(places.size(), 1)) {
      return InvalidArgument("{}: found {} values; expected {}, as in the header{}", where, values->size(),
                             std::max<size_t>(places.size(), 1),
                             places.empty() ? " (names of classes have ';' between them)" : "");
    }
    labels.bytes.resize(labels.bytes.size() + width);
    uint8_t* const row = labels.bytes.data() + labels.bytes.size() - width;
    RETURN_IF_ERROR(places.empty() ? AddNames(where, classes, values->front(), row)
                                   : AddValues(where, places, *values, row));
    ++labels.sizes[0];
  }
  if (labels.sizes[0] == 0) return InvalidArgument("{}: found no rows behind the header", path);
  return labels;
}

}  // namespace partita
