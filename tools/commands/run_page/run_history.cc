#include "tools/commands/run_page/run_history.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

double NumberIn(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : RecordedLine::kNone;
}

int64_t CountIn(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::string TextIn(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

RecordedLine Recorded(const Json& line) {
  RecordedLine recorded{CountIn(line, "step"), NumberIn(line, "epoch"), NumberIn(line, "loss"), {}};
  const auto metrics = line.find("metrics");
  if (metrics != line.end() && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      recorded.metrics.emplace_back(name, value.is_number() ? value.get<double>() : RecordedLine::kNone);
    }
  }
  recorded.learning_rate = NumberIn(line, "learning_rate");
  recorded.gradient_norm = NumberIn(line, "gradient_norm");
  recorded.samples_per_second = NumberIn(line, "samples_per_second");
  recorded.step_seconds = NumberIn(line, "step_seconds");
  return recorded;
}

RecordedLine MeanOf(const RecordedLine& a, const RecordedLine& b) {
  RecordedLine mean = b;
  for (double RecordedLine::*const number :
       {&RecordedLine::loss, &RecordedLine::learning_rate, &RecordedLine::gradient_norm,
        &RecordedLine::samples_per_second, &RecordedLine::step_seconds}) {
    mean.*number = (a.*number + b.*number) / 2;
  }
  for (size_t m = 0; m < std::min(a.metrics.size(), b.metrics.size()); ++m) {
    mean.metrics[m].second = (a.metrics[m].second + b.metrics[m].second) / 2;
  }
  return mean;
}

void AddThinned(RecordedLine line, std::vector<RecordedLine>& lines) {
  lines.push_back(std::move(line));
  if (lines.size() < RunHistory::kMostLines) return;
  for (size_t i = 0; i < lines.size() / 2; ++i) lines[i] = MeanOf(lines[2 * i], lines[2 * i + 1]);
  lines.resize(lines.size() / 2);
}

}  // namespace

void RunHistory::Add(const std::string& line) {
  const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return;
  const std::string event = TextIn(parsed, "event");
  time = TextIn(parsed, "time");
  if (event == "run") {
    step = CountIn(parsed, "first_step");
    planned_steps = CountIn(parsed, "steps");
    batch = CountIn(parsed, "batch");
    return;
  }
  step = std::max(step, CountIn(parsed, "step"));
  if (event == "step") AddThinned(Recorded(parsed), steps_);
  if (event == "evaluation") AddThinned(Recorded(parsed), evaluations_);
  if (event == "skip") ++skipped;
  if (event != "end") return;
  outcome = TextIn(parsed, "outcome");
  error = TextIn(parsed, "error");
}

void RunHistory::AddEarlier(const std::string& path, int64_t first_step) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object() || CountIn(parsed, "step") > first_step) continue;
    const std::string event = TextIn(parsed, "event");
    std::vector<RecordedLine>* const lines = event == "step"         ? &steps_
                                             : event == "evaluation" ? &evaluations_
                                                                     : nullptr;
    if (lines == nullptr) continue;
    RecordedLine recorded = Recorded(parsed);
    // A step that several runs have done: the later line counts.
    while (!lines->empty() && lines->back().step >= recorded.step) lines->pop_back();
    AddThinned(std::move(recorded), *lines);
  }
}

}  // namespace partita
