// one_step [--loss=LOSS] [--frozen] [--evaluate | --read] MODEL INPUTS.safetensors [REPLICAS PARTS | found]: one step
// of an exported program (.pt2, .onnx) in f64 with its own weights, as JSON: the loss and the norm of each gradient, to
// be compared with PyTorch's. Inputs are f64 or i32 as PyTorch has them, of any batch. `--frozen`: batch norms keep
// their statistics. `--evaluate`: the loss alone, without training. `--read`: nothing but the model's states. `found`:
// split as --search=auto does for the two cores of cluster two_cores. Exit code 1: one sentence on standard error says
// what is wrong.
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

struct Request {
  std::string loss;
  bool frozen = false, evaluates = false, reads = false;
  std::vector<std::string> words;  // the others
};

// For as many samples as the inputs have.
api::Result<api::Model> Sized(const api::Model& model, const SafetensorsFile& given) {
  for (const api::Field& field : model.fields()) {
    const StoredTensor* const stored = given.Find(field.name);
    if (stored == nullptr || stored->shape.empty() || field.shape.empty()) continue;
    if (stored->shape[0] != field.shape[0]) return model.WithBatch(stored->shape[0]);
  }
  return model;
}

absl::StatusOr<nlohmann::json> Step(const Request& request, const api::Split& split) {
  const std::string &path = request.words[0], &inputs = request.words[1];
  ASSIGN_OR_RETURN(const ImportedModel imported,
                   ImportModel(path, Ops(), {.loss = request.loss, .frozen_statistics = request.frozen}));
  if (request.reads) return nlohmann::json{{"states", imported.states.size()}};
  ASSIGN_OR_RETURN(const SafetensorsFile given, LoadSafetensors(inputs));
  auto model = api::Model::FromFile(path, {.loss = request.loss, .frozen_statistics = request.frozen});
  if (!model.ok()) return ErrorOf(model.error());
  model = Sized(*model, given);
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
    if (imported.channels_last.contains(field.name)) {
      doubles[field.name] = ChannelsLast(doubles[field.name], stored->shape);
    }
    batch[field.name] = {api::Type::kF64, field.shape, doubles[field.name].data()};
  }
  if (request.evaluates) {
    const auto evaluated = session->Evaluate(batch);
    if (!evaluated.ok()) return ErrorOf(evaluated.error());
    return nlohmann::json{{"loss", evaluated->loss}};
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
  partita::Request request;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], loss = "--loss=";
    if (word.starts_with(loss)) {
      request.loss = word.substr(loss.size());
    } else if (word == "--frozen" || word == "--evaluate") {
      (word == "--frozen" ? request.frozen : request.evaluates) = true;
    } else if (word == "--read") {
      request.reads = true;
    } else {
      request.words.push_back(word);
    }
  }
  partita::api::Split split;
  if (request.words.size() == 3 && request.words[2] == "found") {
    split = {.search = "auto", .ranks = 2, .cluster = "two_cores"};
  } else if (request.words.size() == 4) {
    split = {.data = std::atoi(request.words[2].c_str()), .model = std::atoi(request.words[3].c_str())};
  } else if (request.words.size() != 2) {
    fmt::print(stderr,
               "usage: one_step [--loss=LOSS] [--frozen] [--evaluate | --read] MODEL INPUTS.safetensors "
               "[REPLICAS PARTS | found]\n");
    return 2;
  }
  const auto answer = partita::Step(request, split);
  if (!answer.ok()) {
    fmt::print(stderr, "{}\n", std::string(answer.status().message()));
    return 1;
  }
  fmt::print("{}\n", answer->dump());
}
