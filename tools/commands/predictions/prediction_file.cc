#include "tools/commands/predictions/prediction_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/base/file_name.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/commands/predictions/rows.h"

namespace partita {
namespace {

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: magic, version 1.0, the header's length in
// two bytes, and a Python literal that spaces bring to a multiple of 64 bytes.
std::string NpyHeader(const HostTensor& tensor) {
  const char* const descr = tensor.dtype == DType::kF64 ? "<f8" : tensor.dtype == DType::kF32 ? "<f4" : "<i4";
  std::string shape;
  for (const int64_t size : tensor.shape) shape += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr size_t kBefore = 10, kMultiple = 64;
  header.append((kMultiple - (kBefore + header.size() + 1) % kMultiple) % kMultiple, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(length & 0xff);
  bytes += static_cast<char>(length >> 8);
  return bytes + header;
}

template <typename T>
std::string Csv(const HostTensor& tensor, const std::string& name, const std::vector<std::string>& samples) {
  const int64_t rows = tensor.shape[0], columns = rows == 0 ? 0 : Elements(tensor.shape) / rows;
  fmt::memory_buffer text;
  if (!samples.empty()) text.append(std::string_view("sample,"));
  for (int64_t c = 0; c < columns; ++c) {
    fmt::format_to(std::back_inserter(text), "{}{}[{}]", c == 0 ? "" : ",", name, c);
  }
  text.push_back('\n');
  const char* next = tensor.bytes.data();
  for (int64_t r = 0; r < rows; ++r) {
    if (!samples.empty()) text.append(CsvText(samples[static_cast<size_t>(r)]) + ",");
    for (int64_t c = 0; c < columns; ++c, next += sizeof(T)) {
      T value;
      std::memcpy(&value, next, sizeof(T));
      fmt::format_to(std::back_inserter(text), "{}{}", c == 0 ? "" : ",", value);  // the shortest that reads back equal
    }
    text.push_back('\n');
  }
  return fmt::to_string(text);
}

// The elements from `next` on as nested lists, one for each dimension from `dimension` on.
template <typename T>
nlohmann::json Nested(const Shape& shape, size_t dimension, const char*& next) {
  if (dimension == shape.size()) {
    T value;
    std::memcpy(&value, next, sizeof(T));
    next += sizeof(T);
    return value;
  }
  nlohmann::json list = nlohmann::json::array();
  for (int64_t i = 0; i < shape[dimension]; ++i) list.push_back(Nested<T>(shape, dimension + 1, next));
  return list;
}

template <typename T>
std::string JsonLines(const HostTensor& tensor, const std::string& name, const std::vector<std::string>& samples) {
  std::string text;
  const char* next = tensor.bytes.data();
  for (int64_t r = 0; r < tensor.shape[0]; ++r) {
    nlohmann::ordered_json line;
    if (!samples.empty()) line["sample"] = samples[static_cast<size_t>(r)];
    line[name] = Nested<T>(tensor.shape, 1, next);
    text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return text;
}

template <typename T>
std::string Lines(const HostTensor& tensor, const std::string& name, const std::vector<std::string>& samples,
                  PredictionFormat format) {
  return format == PredictionFormat::kJsonLines ? JsonLines<T>(tensor, name, samples) : Csv<T>(tensor, name, samples);
}

}  // namespace

PredictionFormat FormatOfPredictions(const std::string& path) {
  if (HasEnding(path, ".npy")) return PredictionFormat::kNpy;
  return HasEnding(path, ".jsonl") ? PredictionFormat::kJsonLines : PredictionFormat::kCsv;
}

absl::Status SaveNpy(const HostTensor& tensor, const std::string& name, const std::string& path) {
  RETURN_IF_ERROR(CheckWritable(tensor, name));
  const std::string header = NpyHeader(tensor);
  const std::array<std::string_view, 2> pieces = {header, std::string_view(tensor.bytes.data(), tensor.bytes.size())};
  return WriteFileAtomically(path, pieces);
}

absl::StatusOr<std::string> PrintPredictions(const HostTensor& tensor, const std::string& name,
                                             const std::vector<std::string>& samples, PredictionFormat format) {
  RETURN_IF_ERROR(CheckWritable(tensor, name));
  if (tensor.dtype == DType::kF32) return Lines<float>(tensor, name, samples, format);
  if (tensor.dtype == DType::kF64) return Lines<double>(tensor, name, samples, format);
  return Lines<int32_t>(tensor, name, samples, format);
}

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace partita
