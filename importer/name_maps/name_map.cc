#include "importer/name_maps/name_map.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "graph/value/node_name.h"
#include "graph/value/pattern.h"
#include "importer/name_maps/map_texts.h"
#include "runtime/base/file_name.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kLargestMap = 1 << 20;
constexpr char kEnding[] = ".map";

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

absl::StatusOr<NameMap> NameMap::Parse(const std::string& path, const std::string& text) {
  NameMap map;
  map.is_same_ = false;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::vector<std::string> words = WordsOf(line);
    if (words.empty()) continue;
    const absl::Status parsed = map.ParseLine(std::move(words));
    if (!parsed.ok()) return WithContext(fmt::format("{}: line {}", path, number), parsed);
  }
  if (map.rules_.empty())
    return InvalidArgument("{}: the map names no state; expected lines 'STATE TENSOR [ORDER]'", path);
  return map;
}

absl::Status NameMap::ParseLine(std::vector<std::string> words) {
  if (words[0] == "names") return ParseTable(words);
  if (words[0] == "ignore") {
    ignored_.insert(ignored_.end(), words.begin() + 1, words.end());
    return absl::OkStatus();
  }
  if (words[0] == "optional-prefix") {
    if (words.size() != 2) return InvalidArgument("expected 'optional-prefix TEXT'");
    optional_prefix_ = words[1];
    return absl::OkStatus();
  }
  Rule rule;
  rule.copy = words[0] == "copy";
  if (rule.copy) words.erase(words.begin());
  if (words.size() >= 4 && words[words.size() - 2] == "if") {
    rule.condition = words.back();
    words.resize(words.size() - 2);
  }
  if (words.size() < 2)
    return InvalidArgument("found {} alone; expected 'STATE TENSOR [ORDER]'",
                           Quoted(words.empty() ? "copy" : words[0]));
  ASSIGN_OR_RETURN(rule.state, NamePattern::Parse(words[0], tables_));
  ASSIGN_OR_RETURN(rule.tensor, NamePattern::Parse(words[1], tables_));
  ASSIGN_OR_RETURN(rule.order, Rearrangement::Parse(std::span(words).subspan(2)));
  rules_.push_back(std::move(rule));
  return absl::OkStatus();
}

absl::Status NameMap::ParseTable(const std::vector<std::string>& words) {
  NameTable table;
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equal = words[i].find('=');
    if (equal == 0 || equal == std::string::npos)
      return InvalidArgument("found {}; expected WORD=WORD", Quoted(words[i]));
    table[words[i].substr(0, equal)] = words[i].substr(equal + 1);
  }
  if (table.empty()) return InvalidArgument("expected 'names NAME WORD=WORD ...'");
  tables_[words[1]] = std::move(table);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ForeignTensor>> NameMap::Find(const std::string& state, const HasState& has) const {
  if (is_same_) return ForeignTensor{state};
  if (const auto found = tensors_.find(state); found != tensors_.end()) return found->second;
  std::optional<ForeignTensor> tensor;
  for (const Rule& rule : rules_) {
    if (tensor && !rule.copy) continue;
    if (!rule.condition.empty() && !has(rule.condition)) continue;
    const std::optional<NameParts> parts = rule.state.Match(state);
    if (!parts) continue;
    absl::StatusOr<std::string> name = rule.tensor.Make(*parts);
    if (!name.ok()) return WithContext(fmt::format("state {}", Quoted(state)), name.status());
    if (rule.copy && tensor) {
      tensor->copies.push_back(*std::move(name));
    } else if (!rule.copy) {
      tensor = ForeignTensor{*std::move(name), {}, rule.order};
    }
  }
  return tensor;
}

bool NameMap::Ignores(const std::string& tensor) const {
  return std::ranges::any_of(ignored_, [&](const std::string& pattern) { return MatchesPattern(pattern, tensor); });
}

absl::StatusOr<NameMap> FindNameMap(const std::string& map, const std::string& graph) {
  const std::map<std::string, std::string>& shipped = MapTexts();
  for (const std::string& name : {map, map + "/" + graph}) {
    if (const auto found = shipped.find(name); found != shipped.end()) return NameMap::Parse(name, found->second);
  }
  std::error_code error;
  if (HasEnding(map, kEnding) || std::filesystem::exists(map, error)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(map, kLargestMap));
    return NameMap::Parse(map, text);
  }
  std::string known;
  for (const auto& [name, text] : shipped) known += (known.empty() ? "" : ", ") + name;
  return InvalidArgument(
      "--map is {}: no map is shipped under this name for graph {}, and no such file is there; expected a file, or one "
      "of {}",
      Quoted(map), Quoted(graph), known);
}

}  // namespace partita
