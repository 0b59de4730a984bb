#include "tools/commands/output/prediction_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

bool EndsIn(const std::string& path, const char* extension) {
  return std::filesystem::path(path).extension() == extension;
}

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

// RFC 4180.
std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
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

}  // namespace

absl::Status SavePredictions(const HostTensor& tensor, const std::string& name, const std::vector<std::string>& samples,
                             const std::string& path) {
  if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kF64 && tensor.dtype != DType::kI32) {
    return InvalidArgument("value '{}' is {}; f32, f64 and i32 can be written", name, Name(tensor.dtype));
  }
  if (EndsIn(path, ".npy")) {
    const std::string header = NpyHeader(tensor);
    const std::array<std::string_view, 2> pieces = {header, std::string_view(tensor.bytes.data(), tensor.bytes.size())};
    return WriteFileAtomically(path, pieces);
  }
  if (tensor.dtype == DType::kF32) return WriteFileAtomically(path, Csv<float>(tensor, name, samples));
  if (tensor.dtype == DType::kF64) return WriteFileAtomically(path, Csv<double>(tensor, name, samples));
  return WriteFileAtomically(path, Csv<int32_t>(tensor, name, samples));
}

}  // namespace partita
