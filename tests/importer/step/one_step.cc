// one_step MODEL.pt2 INPUTS.safetensors [REPLICAS PARTS | found]: one step of an exported program in f64 with its own
// weights, as JSON: the loss and the norm of each gradient, to be compared with PyTorch's. Inputs are f64 or i32 as
// PyTorch has them. `found`: split as --search=auto does for the two cores of cluster two_cores. Exit code 1: one
// sentence on standard error says what is wrong.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "importer/import_model.h"
#include "ops/registry.h"
#include "partita/partita.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {
namespace {

constexpr double kLearningRate = 0.1;  // of a model that says none

std::vector<double> Doubles(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

// [n,c,h,w] as [n,h,w,c].
std::vector<double> ChannelsLast(const std::vector<double>& values, const std::vector<int64_t>& shape) {
  std::vector<double> ordered(values.size());
  const int64_t channels = shape[1], area = shape[2] * shape[3];
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < area; ++i) {
        ordered[(n * area + i) * channels + c] = values[(n * channels + c) * area + i];
      }
    }
  }
  return ordered;
}

absl::Status ErrorOf(const api::Error& error) { return InvalidArgument("{}", error.message); }

absl::StatusOr<nlohmann::json> Step(const std::string& path, const std::string& inputs, const api::Split& split) {
  ASSIGN_OR_RETURN(const ImportedModel imported, ImportModel(path, Ops()));
  ASSIGN_OR_RETURN(const SafetensorsFile given, LoadSafetensors(inputs));
  auto model = api::Model::FromFile(path);
  if (!model.ok()) return ErrorOf(model.error());
  auto session = api::Session::Start(*model, split, {.f64 = true});
  if (!session.ok()) return ErrorOf(session.error());
  std::map<std::string, std::vector<double>> doubles;
  api::Fields batch;
  for (const api::Field& field : model->fields()) {
    const StoredTensor* const stored = given.Find(field.name);
    if (stored == nullptr) return InvalidArgument("{}: has no input {}", inputs, field.name);
    const std::span<const std::byte> bytes = given.Bytes(*stored);
    if (field.type == api::Type::kI32) {
      batch[field.name] = {field.type, field.shape, bytes.data()};
      continue;
    }
    doubles[field.name] = Doubles(bytes);
    if (stored->shape.size() == 4 && stored->shape != field.shape) {
      doubles[field.name] = ChannelsLast(doubles[field.name], stored->shape);
    }
    batch[field.name] = {api::Type::kF64, field.shape, doubles[field.name].data()};
  }
  std::map<std::string, std::vector<double>> before;
  for (const auto& state : imported.states) {
    const auto read = session->Read(state.name);
    if (read.ok() && read->type == api::Type::kF64) before[state.name] = Doubles(read->bytes);
  }
  const auto step = session->Train(batch);
  if (!step.ok()) return ErrorOf(step.error());
  nlohmann::json answer = {{"loss", step->loss}};
  for (const auto& [name, values] : before) {
    const std::vector<double> after = Doubles(session->Read(name)->bytes);
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += std::pow((values[i] - after[i]) / kLearningRate, 2);
    answer["gradient_norms"][name] = std::sqrt(sum);
  }
  return answer;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  partita::api::Split split;
  if (argc == 4 && std::string(argv[3]) == "found") {
    split = {.search = "auto", .ranks = 2, .cluster = "two_cores"};
  } else if (argc == 5) {
    split = {.data = std::atoi(argv[3]), .model = std::atoi(argv[4])};
  } else if (argc != 3) {
    fmt::print(stderr, "usage: one_step MODEL.pt2 INPUTS.safetensors [REPLICAS PARTS | found]\n");
    return 2;
  }
  const auto answer = partita::Step(argv[1], argv[2], split);
  if (!answer.ok()) {
    fmt::print(stderr, "{}\n", std::string(answer.status().message()));
    return 1;
  }
  fmt::print("{}\n", answer->dump());
}
