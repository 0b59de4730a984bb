#include "tests/exporter/onnx/round_trip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "exporter/onnx/export_model.h"
#include "exporter/onnx/write_model.h"
#include "graph/proto_io/proto_io.h"
#include "graph/read/predicted_value.h"
#include "importer/import_model.h"
#include "ops/registry.h"
#include "partita/partita.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

template <typename T>
absl::StatusOr<T> ValueOf(api::Result<T> result) {
  if (!result.ok()) return InvalidArgument("{}", result.error().message);
  return *std::move(result);
}

absl::Status StatusOf(const api::Outcome& outcome) {
  return outcome ? InvalidArgument("{}", outcome->message) : absl::OkStatus();
}

std::string Temporary(const std::string& name) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string unique = std::string(test->test_suite_name()) + test->name() + name;
  std::ranges::replace(unique, '/', '_');
  return ::testing::TempDir() + "/" + unique;
}

// Fields of a model with numbers that look random, or with small whole ones.
class Batch {
 public:
  explicit Batch(const std::vector<api::Field>& fields) {
    for (const api::Field& field : fields) {
      size_t count = 1;
      for (const int64_t size : field.shape) count *= static_cast<size_t>(size);
      if (field.type == api::Type::kI32) {
        std::vector<int32_t>& values = integers_[field.name];
        for (size_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(i % 2));
        batch_[field.name] = {field.type, field.shape, values.data()};
      } else {
        std::vector<double>& values = numbers_[field.name];
        for (size_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(i * i % 1009) + 0.5));
        batch_[field.name] = {api::Type::kF64, field.shape, values.data()};
      }
    }
  }
  const api::Fields& fields() const { return batch_; }

 private:
  std::map<std::string, std::vector<int32_t>> integers_;
  std::map<std::string, std::vector<double>> numbers_;
  api::Fields batch_;
};

std::vector<double> Doubles(const api::Tensor& tensor) {
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// What a model predicts for `batch` samples, with the weights of `weights`; "": its own.
absl::StatusOr<api::Tensor> Predicted(const api::Model& model, const std::string& value, int64_t batch,
                                      const std::string& weights) {
  ASSIGN_OR_RETURN(const api::Model sized, ValueOf(model.WithBatch(batch)));
  ASSIGN_OR_RETURN(api::Session session,
                   ValueOf(api::Session::Start(sized, {}, {.f64 = true, .predict = {value}, .train = false})));
  if (!weights.empty()) RETURN_IF_ERROR(StatusOf(session.Load(weights)));
  const Batch given(sized.fields());
  ASSIGN_OR_RETURN(auto predicted, ValueOf(session.Predict(given.fields())));
  return predicted.at(value);
}

absl::StatusOr<double> Difference(const api::Tensor& expected, const api::Tensor& found) {
  if (expected.shape != found.shape) return InvalidArgument("the shapes of both predictions differ");
  const std::vector<double> wanted = Doubles(expected), values = Doubles(found);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    difference = std::max(difference, std::abs(wanted[i] - values[i]));
    if (std::isnan(wanted[i]) || std::isnan(values[i])) return InvalidArgument("element {} is not a number", i);
  }
  if (largest == 0) return InvalidArgument("all predictions are 0, which shows nothing");
  return difference / largest;
}

}  // namespace

absl::StatusOr<RoundTrip> ExportAndReadBack(const Model& model, const std::string& value, int steps,
                                            const std::vector<int64_t>& batches) {
  const std::string graph = Temporary("graph.pb"), weights = Temporary("weights.safetensors");
  RoundTrip trip{.path = Temporary("model.onnx")};
  RETURN_IF_ERROR(SaveModel(model, graph));
  ASSIGN_OR_RETURN(const api::Model original, ValueOf(api::Model::FromFile(graph)));
  ASSIGN_OR_RETURN(api::Session session, ValueOf(api::Session::Start(original, {}, {.steps = 4, .f64 = true})));
  const Batch batch(original.fields());
  for (int step = 0; step < steps; ++step) RETURN_IF_ERROR(ValueOf(session.Train(batch.fields())).status());
  RETURN_IF_ERROR(StatusOf(session.Save(weights)));

  const auto read = [&session](const std::string& name, const TensorType&) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const api::Tensor state, ValueOf(session.Read(name)));
    return std::string(reinterpret_cast<const char*>(state.bytes.data()), state.bytes.size());
  };
  ASSIGN_OR_RETURN(const onnx_export::ExportedModel exported,
                   onnx_export::ExportOnnx(model, Ops(), {.value = value, .producer_version = "1", .read = read}));
  RETURN_IF_ERROR(onnx_export::WriteOnnxModel(exported.model, trip.path));
  trip.any_batch = exported.any_batch;

  ASSIGN_OR_RETURN(const ImportedModel imported, ImportModel(trip.path, Ops(), {.loss = "mse"}));
  const ValueId predicted = PredictedValueOf(imported.model.graph);
  ASSIGN_OR_RETURN(const api::Model again, ValueOf(api::Model::FromFile(trip.path, {.loss = "mse"})));
  for (const int64_t size : batches) {
    ASSIGN_OR_RETURN(const api::Tensor expected, Predicted(original, value, size, weights));
    ASSIGN_OR_RETURN(const api::Tensor found, Predicted(again, imported.model.graph.value(predicted).name, size, ""));
    ASSIGN_OR_RETURN(const double difference, Difference(expected, found));
    trip.difference = std::max(trip.difference, difference);
  }
  return trip;
}

}  // namespace partita
