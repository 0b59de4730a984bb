#include "tools/commands/oracle/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kLargestHistory = int64_t{256} << 20;

// The fields of a line that are text.
constexpr std::pair<const char*, std::string GradedRun::*> kTexts[] = {
    {"time", &GradedRun::time},     {"model", &GradedRun::model},     {"strategy", &GradedRun::strategy},
    {"device", &GradedRun::device}, {"cluster", &GradedRun::cluster}, {"revision", &GradedRun::revision}};

absl::StatusOr<double> ReadNumber(const json& object, const std::string& term, const char* field, bool positive) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) {
    return InvalidArgument("terms: {}: field {} is {}; a number is needed", term, field,
                           found == object.end() ? "missing" : found->dump());
  }
  const auto value = found->get<double>();
  if (std::isfinite(value) && (positive ? value > 0 : value >= 0)) return value;
  return InvalidArgument("terms: {}: field {} is {}; {} is needed", term, field, value,
                         positive ? "a number greater than 0" : "0 or more");
}

absl::StatusOr<std::vector<GradedTerm>> ReadTerms(const json& line) {
  const auto terms = line.find("terms");
  if (terms == line.end() || !terms->is_object()) return InvalidArgument("field terms is missing, or is no object");
  std::vector<GradedTerm> read;
  for (const auto& [kind, term] : terms->items()) {
    if (!term.is_object()) return InvalidArgument("terms: {} is {}; an object is needed", kind, term.dump());
    ASSIGN_OR_RETURN(const double predicted, ReadNumber(term, kind, "predicted", false));
    ASSIGN_OR_RETURN(const double measured, ReadNumber(term, kind, "measured", true));
    read.push_back({kind, predicted, measured});
  }
  return read;
}

absl::StatusOr<GradedRun> ParseLine(const std::string& text) {
  const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return InvalidArgument("it is no JSON object");
  GradedRun run;
  for (const auto& [field, member] : kTexts) {
    const auto found = line.find(field);
    if (found == line.end()) continue;
    if (!found->is_string()) return InvalidArgument("field {} is {}; text is needed", field, found->dump());
    run.*member = found->get<std::string>();
  }
  if (const auto steps = line.find("steps"); steps != line.end()) {
    if (!steps->is_number_unsigned()) return InvalidArgument("field steps is {}; 0 or more is needed", steps->dump());
    run.steps = steps->get<int64_t>();
  }
  ASSIGN_OR_RETURN(run.terms, ReadTerms(line));
  return run;
}

}  // namespace

double GradedTerm::error() const { return std::abs(predicted - measured) / measured; }

std::string ToLine(const GradedRun& run) {
  json line;
  for (const auto& [field, member] : kTexts) line[field] = run.*member;
  line["steps"] = run.steps;
  for (const GradedTerm& term : run.terms) {
    line["terms"][term.kind] = {{"predicted", term.predicted}, {"measured", term.measured}};
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<std::vector<GradedRun>> ParseHistory(const std::string& text, const std::string& source) {
  std::vector<GradedRun> runs;
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    absl::StatusOr<GradedRun> run = ParseLine(line);
    if (!run.ok()) return WithContext(fmt::format("{}: line {}", source, number), run.status());
    runs.push_back(*std::move(run));
  }
  return runs;
}

absl::StatusOr<std::vector<GradedRun>> LoadHistory(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLargestHistory));
  return ParseHistory(text, path);
}

absl::Status AppendRun(const std::string& path, const GradedRun& run) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  // Without O_NONBLOCK opening a pipe that nothing reads would block for ever.
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file < 0) return InvalidArgument("{}: cannot write: {}", path, std::strerror(errno));
  const std::string line = ToLine(run) + "\n";
  const ssize_t written = write(file, line.data(), line.size());
  const int reason = errno;
  close(file);
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  return ResourceExhausted("{}: cannot write: {}", path, written < 0 ? std::strerror(reason) : "no space for the line");
}

}  // namespace partita
