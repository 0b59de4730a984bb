#include "tools/commands/predictions/top_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/base/status.h"
#include "tools/commands/predictions/rows.h"

namespace partita {
namespace {

// False: a value is NaN or too large, or all are minus infinity.
bool Softmax(std::vector<double>& row) {
  const double largest = *std::ranges::max_element(row);
  if (!std::isfinite(largest)) return false;
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
  return std::isfinite(sum);
}

std::vector<ClassProbability> TopOf(const std::vector<double>& row, int64_t count) {
  std::vector<int64_t> labels(row.size());
  std::iota(labels.begin(), labels.end(), 0);
  const auto probability = [&](int64_t label) { return row[static_cast<size_t>(label)]; };
  std::ranges::stable_sort(labels, std::ranges::greater{}, probability);
  labels.resize(std::min(labels.size(), static_cast<size_t>(count)));
  std::vector<ClassProbability> top;
  for (const int64_t label : labels) top.push_back({label, probability(label)});
  return top;
}

std::string JsonLine(const std::string& sample, const std::vector<ClassProbability>& top,
                     const std::vector<std::string>& class_names) {
  nlohmann::ordered_json line;
  line["sample"] = sample;
  line["top"] = nlohmann::json::array();
  for (const auto& [label, probability] : top) {
    nlohmann::ordered_json entry;
    entry["label"] = label;
    entry["class"] = ClassName(label, class_names);
    entry["probability"] = probability;
    line["top"].push_back(std::move(entry));
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<std::vector<std::vector<ClassProbability>>> TopClasses(const HostTensor& values, const std::string& name,
                                                                      bool logits, int64_t count) {
  RETURN_IF_ERROR(CheckWritable(values, name));
  if (values.shape.size() != 2 || values.dtype == DType::kI32) {
    return InvalidArgument("value '{}' is {}{}; the most probable classes are those of a value [samples, classes]",
                           name, Name(values.dtype), ToString(values.shape));
  }
  std::vector<std::vector<ClassProbability>> rows;
  for (int64_t r = 0; r < values.shape[0]; ++r) {
    std::vector<double> row = NumbersOfRow(values, r);
    const bool valid = logits ? Softmax(row) : std::ranges::none_of(row, [](double p) { return std::isnan(p); });
    if (!valid) return OutOfRange("value '{}' of sample {}: found NaN or infinity, which has no probability", name, r);
    rows.push_back(TopOf(row, count));
  }
  return rows;
}

std::string ClassName(int64_t label, const std::vector<std::string>& class_names) {
  return label < static_cast<int64_t>(class_names.size()) ? class_names[static_cast<size_t>(label)]
                                                          : fmt::to_string(label);
}

std::string PrintTopClasses(const std::vector<std::vector<ClassProbability>>& rows,
                            const std::vector<std::string>& samples, const std::vector<std::string>& class_names,
                            PredictionFormat format) {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  const bool json = format == PredictionFormat::kJsonLines;
  if (!json) {
    fmt::format_to(out, "sample");
    for (size_t k = 1; !rows.empty() && k <= rows[0].size(); ++k) fmt::format_to(out, ",class_{0},probability_{0}", k);
    text.push_back('\n');
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::string sample = samples.empty() ? fmt::to_string(r) : samples[r];
    if (json) {
      fmt::format_to(out, "{}\n", JsonLine(sample, rows[r], class_names));
      continue;
    }
    fmt::format_to(out, "{}", CsvText(sample));
    for (const auto& [label, probability] : rows[r]) {
      fmt::format_to(out, ",{},{:.6g}", CsvText(ClassName(label, class_names)), probability);
    }
    text.push_back('\n');
  }
  return fmt::to_string(text);
}

}  // namespace partita
