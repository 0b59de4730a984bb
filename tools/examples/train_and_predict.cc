// Learns to tell which of two numbers is larger, and asks what it has learnt: Partita as a library.
#include <cstdio>
#include <random>

#include "partita/partita.h"

using namespace partita::api;

namespace {

constexpr int64_t kBatch = 32;

Description Comparer() {
  Description model{.name = "comparer", .nodes = {}, .loss = "loss", .metrics = {"accuracy"}};
  const auto parameter = [](std::vector<int64_t> shape, const char* initializer) {
    return Attributes{{"shape", std::move(shape)}, {"initializer", std::string(initializer)}, {"scale", 0.5}};
  };
  model.nodes = {
      {"pairs", "input", {}, {{"shape", std::vector<int64_t>{kBatch, 2}}}},
      {"larger", "input", {}, {{"shape", std::vector<int64_t>{kBatch}}, {"dtype", std::string("i32")}}},
      {"weights", "parameter", {}, parameter({2, 2}, "glorot_uniform")},
      {"scores", "matmul", {"pairs", "weights"}, {}},
      {"loss", "softmax_cross_entropy", {"scores", "larger"}, {}},
      {"accuracy", "accuracy", {"scores", "larger"}, {}},
  };
  return model;
}

int Fail(const Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

}  // namespace

int main() {
  const Result<Model> model = Model::FromDescription(Comparer());
  if (!model) return Fail(model.error());
  Result<Session> session = Session::Start(*model, {.data = 2}, {.predict = {"scores"}});
  if (!session) return Fail(session.error());
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> pairs(kBatch * 2);
  std::vector<int32_t> larger(kBatch);
  const Fields batch = {{"pairs", {Type::kF32, {kBatch, 2}, pairs.data()}},
                        {"larger", {Type::kI32, {kBatch}, larger.data()}}};
  for (int step = 0; step < 500; ++step) {
    for (float& number : pairs) number = uniform(generator);
    for (int64_t i = 0; i < kBatch; ++i) larger[i] = pairs[2 * i + 1] > pairs[2 * i];
    const Result<StepResult> result = session->Train(batch);
    if (!result) return Fail(result.error());
    if (step % 100 == 99) std::printf("loss %.3f, accuracy %.2f\n", result->loss, result->metrics.at("accuracy"));
  }
  const auto values = session->Predict({{"pairs", batch.at("pairs")}});
  if (!values) return Fail(values.error());
  const float* const scores = reinterpret_cast<const float*>(values->at("scores").bytes.data());
  std::printf("of %.2f and %.2f the %s is larger\n", pairs[0], pairs[1], scores[1] > scores[0] ? "second" : "first");
}
