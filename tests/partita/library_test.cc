// The library as its callers use it, rightly and wrongly. It includes nothing of the project but the public header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

#include "partita/partita.h"

namespace partita::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kBatch = 12;

// Two dense layers with a relu between.
Description TwoLayers() {
  const auto parameter = [](std::vector<int64_t> shape) {
    return Attributes{{"shape", std::move(shape)}, {"initializer", std::string("glorot_uniform")}};
  };
  Description model;
  model.name = "two layers";
  model.nodes = {
      {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}},  // in any order
      {"x", "input", {}, {{"shape", std::vector<int64_t>{kBatch, 6}}}},
      {"labels", "input", {}, {{"shape", std::vector<int64_t>{kBatch}}, {"dtype", std::string("i32")}}},
      {"w1", "parameter", {}, parameter({6, 10})},
      {"w2", "parameter", {}, parameter({10, 4})},
      {"h", "matmul", {"x", "w1"}, {}},
      {"r", "relu", {"h"}, {}},
      {"logits", "matmul", {"r", "w2"}, {}},
      {"accuracy", "accuracy", {"logits", "labels"}, {}},
  };
  model.loss = "loss";
  model.metrics = {"accuracy"};
  model.optimizer_attributes = {{"momentum", 0.9}};
  return model;
}

struct Data {
  explicit Data(int step) : x(kBatch * 6), labels(kBatch) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + 1) * 0.7f + static_cast<float>(step));
    // The class is where the largest of the first four numbers stands.
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto row = x.begin() + static_cast<int64_t>(i) * 6;
      labels[i] = static_cast<int32_t>(std::max_element(row, row + 4) - row);
    }
  }
  Fields fields() const {
    return {{"x", {Type::kF32, {kBatch, 6}, x.data()}}, {"labels", {Type::kI32, {kBatch}, labels.data()}}};
  }
  std::vector<float> x;
  std::vector<int32_t> labels;
};

Session Start(const Split& split, Options options = {}, const Description& description = TwoLayers()) {
  Result<Model> model = Model::FromDescription(description);
  EXPECT_TRUE(model.ok()) << model.error().message;
  options.threads_per_rank = 1;
  Result<Session> session = Session::Start(*model, split, options);
  EXPECT_TRUE(session.ok()) << session.error().message;
  return *std::move(session);
}

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST(Library, SaysWhichFieldsAModelWants) {
  const Result<Model> model = Model::FromDescription(TwoLayers());
  ASSERT_TRUE(model.ok());
  const std::vector<Field> fields = model->fields();
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].name, "x");
  EXPECT_THAT(fields[0].shape, ElementsAre(kBatch, 6));
  EXPECT_EQ(fields[1].type, Type::kI32);
  const Result<Model> smaller = model->WithBatch(5);
  ASSERT_TRUE(smaller.ok());
  EXPECT_THAT(smaller->fields()[0].shape, ElementsAre(5, 6));
}

TEST(Library, TrainsEvaluatesAndPredictsAlikeUnderAnySplit) {
  Session serial = Start({}, {.predict = {"logits"}});
  for (const Split& split : {Split{.data = 2}, Split{.model = 2}, Split{.data = 5, .model = 2}}) {
    Session alone = Start({}, {.predict = {"logits"}}), ranks = Start(split, {.predict = {"logits"}});
    for (int step = 0; step < 5; ++step) {
      const Data data(step);
      const auto a = alone.Train(data.fields()), b = ranks.Train(data.fields());
      ASSERT_TRUE(a.ok() && b.ok());
      EXPECT_NEAR(a->loss, b->loss, 1e-5);
      EXPECT_NEAR(a->metrics.at("accuracy"), b->metrics.at("accuracy"), 1e-6);
    }
    const Data data(9);
    const auto a = alone.Evaluate(data.fields()), b = ranks.Evaluate(data.fields());
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NEAR(a->loss, b->loss, 1e-5);
    const auto p = alone.Predict({{"x", data.fields().at("x")}}), q = ranks.Predict(data.fields());
    ASSERT_TRUE(p.ok() && q.ok()) << (p.ok() ? q.error().message : p.error().message);
    EXPECT_THAT(p->at("logits").shape, ElementsAre(kBatch, 4));
    const std::vector<float> expected = Floats(p->at("logits")), found = Floats(q->at("logits"));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], found[i], 1e-5);
  }
}

TEST(Library, LearnsAndCarriesItsStatesThroughAFile) {
  Session session = Start({.data = 2});
  const Data data(0);
  const double before = session.Train(data.fields())->loss;
  for (int step = 0; step < 200; ++step) ASSERT_TRUE(session.Train(data.fields()).ok());
  const double after = session.Evaluate(data.fields())->loss;
  EXPECT_LT(after, before / 2);
  const std::string path = testing::TempDir() + "/library_test.safetensors";
  ASSERT_FALSE(session.Save(path).has_value());
  Session other = Start({.model = 2}, {.seed = 7, .predict = {"logits"}, .train = false});
  EXPECT_THAT(other.states(), testing::IsSupersetOf({"w1", "w2"}));
  ASSERT_FALSE(other.Load(path).has_value());
  EXPECT_EQ(Floats(*other.Read("w1")), Floats(*session.Read("w1")));
  EXPECT_TRUE(other.Predict(data.fields()).ok());
  const Result<StepResult> trained = other.Train(data.fields());
  ASSERT_FALSE(trained.ok());
  EXPECT_THAT(trained.error().message, HasSubstr("for predictions alone"));
  EXPECT_EQ(other.Load("/nowhere/at.safetensors")->code, ErrorCode::kInvalidArgument);
}

// The model above, predicting by moving averages of its weights.
constexpr char kAveraged[] = R"(
  schema_version: 1
  name: "averaged"
  nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [12, 6] } } }
  nodes { name: "labels" op: "input" attributes { name: "dtype" text: "i32" }
          attributes { name: "shape" integers { values: [12] } } }
  nodes { name: "w" op: "parameter" attributes { name: "initializer" text: "glorot_uniform" }
          attributes { name: "shape" integers { values: [6, 4] } } }
  nodes { name: "logits" op: "matmul" inputs: "x" inputs: "w" }
  nodes { name: "loss" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }
  loss: "loss"
  learning_rate { schedule: "constant" base: 0.1 }
  optimizer { name: "sgd" average { decay: 0.9 pattern: "*" } }
)";

TEST(Library, AFileCarriesWhatPredictionsReadInPlaceOfWeights) {
  const Result<Model> model = Model::FromText(kAveraged);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Result<Session> trained = Session::Start(*model, {.data = 2}, {.predict = {"logits"}});
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const Data data(0);
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(trained->Train(data.fields()).ok());
  EXPECT_NE(Floats(*trained->Read("w@average")), Floats(*trained->Read("w")));
  const std::string path = testing::TempDir() + "/averaged.safetensors";
  ASSERT_FALSE(trained->Save(path).has_value());
  Result<Session> predicts = Session::Start(*model, {}, {.seed = 7, .predict = {"logits"}, .train = false});
  ASSERT_TRUE(predicts.ok()) << predicts.error().message;
  ASSERT_FALSE(predicts->Load(path).has_value());
  EXPECT_EQ(Floats(*predicts->Read("w@average")), Floats(*trained->Read("w@average")));
}

TEST(Library, ComputesWhatTheGraphNames) {
  const std::string named = std::string(kAveraged) + R"(
      nodes { name: "shares" op: "softmax" inputs: "logits" }
      entry_points { name: "guess" results { value: "shares" name: "probabilities" } results { value: "logits" } })";
  const Result<Model> model = Model::FromText(named);
  ASSERT_TRUE(model.ok()) << model.error().message;
  Result<Session> session = Session::Start(*model, {.data = 3}, {.predict = {"logits"}});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const Data data(0);
  ASSERT_TRUE(session->Train(data.fields()).ok());
  const Fields x = {{"x", data.fields().at("x")}};
  const auto guess = session->Compute("guess", x), predicted = session->Predict(x);
  ASSERT_TRUE(guess.ok()) << guess.error().message;
  EXPECT_EQ(Floats(guess->at("logits")), Floats(predicted->at("logits")));
  const std::vector<float> shares = Floats(guess->at("probabilities"));
  ASSERT_EQ(shares.size(), 12u * 4);
  for (size_t row = 0; row < 12; ++row) {
    EXPECT_NEAR(shares[4 * row] + shares[4 * row + 1] + shares[4 * row + 2] + shares[4 * row + 3], 1, 1e-5);
  }
  EXPECT_THAT(session->Compute("gues", x).error().message, HasSubstr("'guess'"));
  EXPECT_THAT(session->Compute("train", data.fields()).error().message, HasSubstr("no results to be computed"));
}

TEST(Library, TrainsParametersInGroups) {
  Description description = TwoLayers();
  description.groups = {{.pattern = "w1", .rate = 0},
                        {.pattern = "w?", .attributes = {{"momentum", 0.5}}, .clip_norm = 1e-3}};
  Session session = Start({.data = 2}, {}, description);
  const std::vector<float> w1 = Floats(*session.Read("w1")), w2 = Floats(*session.Read("w2"));
  ASSERT_TRUE(session.Train(Data(0).fields()).ok());
  EXPECT_EQ(Floats(*session.Read("w1")), w1) << "its rate is 0";
  const std::vector<float> after = Floats(*session.Read("w2"));
  double square = 0;
  for (size_t i = 0; i < w2.size(); ++i) square += std::pow(after[i] - w2[i], 2);
  EXPECT_NEAR(std::sqrt(square), 0.1 * 1e-3, 1e-6) << "rate times the largest norm";
}

TEST(Library, ClassesWeighWhatTheSettingSays) {
  const auto loss_with = [](const std::string& weights) {
    Session session = Start({.data = 2}, {.settings = {{"class-weights", weights}}});
    return session.Train(Data(0).fields())->loss;
  };
  Session plain = Start({.data = 2});
  const double loss = plain.Train(Data(0).fields())->loss;
  EXPECT_NEAR(loss_with("2,2,2,2"), loss, 1e-6);
  // One class alone, and another: of all, the loss is their mean by the labels.
  const Data data(0);
  double sum = 0;
  for (int32_t c = 0; c < 4; ++c) {
    const auto count = std::ranges::count(data.labels, c);
    if (count == 0) continue;
    std::string weights;
    for (int32_t i = 0; i < 4; ++i) weights += std::string(i == 0 ? "" : ",") + (i == c ? "1" : "0");
    sum += loss_with(weights) * static_cast<double>(count);
  }
  EXPECT_NEAR(sum / kBatch, loss, 1e-6);
  const Result<Session> unknown =
      Session::Start(*Model::FromDescription(TwoLayers()), {}, {.settings = {{"class-weights", "balanced"}}});
  EXPECT_THAT(unknown.error().message, HasSubstr("class-weights is 'balanced', which only the setting data explains"));
}

TEST(Library, StepsReturnTheNormOfAllGradients) {
  Description clipped = TwoLayers();
  clipped.clip_norm = 1e-3;
  const auto norm_of = [](const Description& description, const Options& options) {
    Session session = Start({.data = 2}, options, description);
    return session.Train(Data(0).fields())->gradient_norm;
  };
  EXPECT_EQ(norm_of(TwoLayers(), {}), std::nullopt);
  const std::optional<double> asked = norm_of(TwoLayers(), {.settings = {{"gradient-norm", "true"}}});
  const std::optional<double> before_clipping = norm_of(clipped, {});
  ASSERT_TRUE(asked && before_clipping);
  EXPECT_NEAR(*asked, *before_clipping, 1e-6 * *asked);
  // Plain descent: a step is the rate times the gradient.
  Description plain = TwoLayers();
  plain.learning_rate = 1;
  plain.optimizer_attributes = {};
  Session session = Start({.data = 2}, {}, plain);
  double square = 0;
  std::map<std::string, std::vector<float>> before;
  for (const std::string state : {"w1", "w2"}) before[state] = Floats(*session.Read(state));
  ASSERT_TRUE(session.Train(Data(0).fields()).ok());
  for (const auto& [state, values] : before) {
    const std::vector<float> after = Floats(*session.Read(state));
    for (size_t i = 0; i < values.size(); ++i) square += std::pow(values[i] - after[i], 2);
  }
  EXPECT_NEAR(*asked, std::sqrt(square), 1e-5 * *asked);
}

TEST(Library, PredictsByMovingAverages) {
  Description description = TwoLayers();
  description.average = MovingAverage{.decay = 0.5, .pattern = "w1"};
  Session session = Start({.data = 2}, {}, description);
  EXPECT_THAT(session.states(), testing::Contains("w1@average"));
  EXPECT_THAT(session.states(), testing::Not(testing::Contains("w2@average")));
  const std::vector<float> before = Floats(*session.Read("w1@average"));
  ASSERT_TRUE(session.Train(Data(0).fields()).ok());
  const std::vector<float> w1 = Floats(*session.Read("w1")), average = Floats(*session.Read("w1@average"));
  for (size_t i = 0; i < w1.size(); ++i) EXPECT_NEAR(average[i], (before[i] + w1[i]) / 2, 1e-6);
}

TEST(Library, WrongGroupsAndAveragesAreErrors) {
  const auto refusal = [](const Description& description) {
    const Result<Model> model = Model::FromDescription(description);
    return model.ok() ? "accepted" : model.error().message;
  };
  Description wrong = TwoLayers();
  wrong.groups = {{.pattern = "w3"}};
  EXPECT_THAT(refusal(wrong), HasSubstr("w3"));
  wrong.groups = {{.pattern = "w1", .attributes = {{"momentun", 0.5}}}};
  EXPECT_THAT(refusal(wrong), HasSubstr("momentun"));
  wrong = TwoLayers();
  wrong.average = MovingAverage{.decay = 1.5};
  EXPECT_THAT(refusal(wrong), HasSubstr("1.5"));
}

TEST(Library, WritesStates) {
  Session session = Start({.data = 2});
  Tensor w1 = *session.Read("w1");
  for (std::byte& byte : w1.bytes) byte = std::byte{0};
  ASSERT_FALSE(session.Write("w1", w1).has_value());
  EXPECT_THAT(Floats(*session.Read("w1")), testing::Each(0.0f));
  w1.shape = {10, 6};
  EXPECT_THAT(session.Write("w1", w1)->message, HasSubstr("state 'w1' is f32[6,10]; given is f32[10,6]"));
  EXPECT_THAT(session.Write("w3", w1)->message, HasSubstr("w3"));
  EXPECT_THAT(session.Read("w3").error().message, HasSubstr("w3"));
}

TEST(Library, WrongBatchesAreErrorsBeforeAnythingRuns) {
  Session session = Start({.data = 2}, {.predict = {"logits"}});
  const Data data(0);
  const auto says = [&](Fields fields) {
    const Result<StepResult> result = session.Train(fields);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    return result.error().message;
  };
  Fields wrong = data.fields();
  wrong["lables"] = wrong["labels"];
  EXPECT_THAT(says(wrong), HasSubstr("no field 'lables'; did you mean 'labels'?"));
  EXPECT_THAT(says({{"x", data.fields().at("x")}}), HasSubstr("field 'labels' is missing"));
  wrong = data.fields();
  wrong["x"].shape = {kBatch, 5};
  EXPECT_THAT(says(wrong), HasSubstr("field 'x' is f32[12,6]; given is f32[12,5]"));
  wrong = data.fields();
  wrong["x"].type = Type::kF64;
  EXPECT_THAT(says(wrong), HasSubstr("given is f64[12,6]"));
  wrong = data.fields();
  wrong["x"].data = nullptr;
  EXPECT_THAT(says(wrong), HasSubstr("given is no data"));
  EXPECT_TRUE(session.Train(data.fields()).ok()) << "the session goes on";
}

TEST(Library, WrongModelsAndSplitsAreErrors) {
  EXPECT_THAT(Model::FromFile("/nowhere/model.pbtxt").error().message, HasSubstr("/nowhere/model.pbtxt"));
  EXPECT_EQ(Model::FromText("nodes {").error().code, ErrorCode::kInvalidArgument);
  Description wrong = TwoLayers();
  wrong.nodes[5].inputs[1] = "w9";
  EXPECT_THAT(Model::FromDescription(wrong).error().message, HasSubstr("w9"));
  wrong = TwoLayers();
  wrong.optimizer = "sgdm";
  EXPECT_THAT(Model::FromDescription(wrong).error().message, HasSubstr("did you mean 'sgd'?"));
  const Result<Model> model = Model::FromDescription(TwoLayers());
  ASSERT_TRUE(model.ok());
  const auto refusal = [&](const Split& split, const Options& options) {
    const Result<Session> session = Session::Start(*model, split, options);
    return session.ok() ? "accepted" : session.error().message;
  };
  EXPECT_NE(refusal({.data = 0}, {}), "accepted");
  EXPECT_THAT(refusal({.strategy_file = "/nowhere.pbtxt"}, {}), HasSubstr("/nowhere.pbtxt"));
  EXPECT_THAT(refusal({}, {.predict = {"logit"}}), HasSubstr("no value 'logit' to predict"));
  EXPECT_THAT(refusal({}, {.train = false}), HasSubstr("neither train nor what to predict"));
  EXPECT_THAT(refusal({}, {.memory_limit = 64}), HasSubstr("64"));
  EXPECT_THAT(Start({}).Predict(Data(0).fields()).error().message, HasSubstr("without values to predict"));
}

TEST(Library, ALossThatIsNotFiniteIsAnError) {
  Session session = Start({});
  Data data(0);
  data.x[3] = std::numeric_limits<float>::quiet_NaN();
  const Result<StepResult> result = session.Train(data.fields());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kNotFinite);
  EXPECT_THAT(result.error().message, HasSubstr("'loss'"));
}

TEST(Library, CancelEndsItFromAnyThread) {
  Session session = Start({.data = 2, .model = 2});
  const Data data(0);
  ASSERT_TRUE(session.Train(data.fields()).ok());
  std::thread canceller([&] { session.Cancel(); });
  Result<StepResult> result = session.Train(data.fields());
  canceller.join();
  if (result.ok()) result = session.Train(data.fields());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Predict(data.fields()).error().code, ErrorCode::kCancelled);
}

// Zeros for all of a model's fields.
class Zeros {
 public:
  explicit Zeros(const Model& model) : fields_(model.fields()) {
    for (const Field& field : fields_) {
      int64_t elements = 1;
      for (const int64_t size : field.shape) elements *= size;
      bytes_[field.name].resize(static_cast<size_t>(elements) * sizeof(double));
    }
  }
  Fields fields() const {
    Fields all;
    for (const Field& field : fields_) all[field.name] = {field.type, field.shape, bytes_.at(field.name).data()};
    return all;
  }

 private:
  std::vector<Field> fields_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

TEST(Library, EveryShippedGraphStartsWithoutSteps) {
  int graphs = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator("tools/models/examples")) {
    if (file.path().extension() != ".pbtxt") continue;
    Result<Model> model = Model::FromFile(file.path().string());
    if (!model.ok()) continue;  // a strategy
    ++graphs;
    SCOPED_TRACE(file.path());
    model = model->WithBatch(4);
    ASSERT_TRUE(model.ok());
    const Zeros zeros(*model);
    Result<Session> session = Session::Start(*model, {}, {});
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_TRUE(session->Evaluate(zeros.fields()).ok());
    const Result<StepResult> trained = session->Train(zeros.fields());
    ASSERT_FALSE(trained.ok());
    EXPECT_EQ(trained.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(trained.error().message, HasSubstr("setting steps is 0; expected"));
    EXPECT_TRUE(session->Evaluate(zeros.fields()).ok());
    session = Session::Start(*model, {.data = 2}, {.steps = 10});
    ASSERT_TRUE(session.ok());
    EXPECT_TRUE(session->Train(zeros.fields()).ok());
  }
  EXPECT_EQ(graphs, 3);
}

TEST(Library, PredictsByEveryShippedGraphWithoutSteps) {
  const std::pair<const char*, const char*> cases[] = {
      {"mlp", "classifier/bias"}, {"lenet5", "classifier/bias"}, {"mini_inception", "classifier/bias"}};
  for (const auto& [name, value] : cases) {
    SCOPED_TRACE(name);
    const Result<Model> model = Model::FromFile(std::string("tools/models/examples/") + name + ".pbtxt");
    ASSERT_TRUE(model.ok()) << model.error().message;
    const Zeros zeros(*model);
    Result<Session> session = Session::Start(*model, {}, {.predict = {value}, .train = false});
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_TRUE(session->Predict(zeros.fields()).ok());
  }
  Description description = TwoLayers();
  const Result<Model> model = Model::FromDescription(description);
  EXPECT_THAT(Session::Start(*model, {}, {.steps = -1}).error().message, HasSubstr("Options::steps is -1"));
}

// What is frozen by a setting is what a rate of 0 leaves alone, but for what that costs; over 2 x 2 ranks too.
TEST(Library, FreezesParametersBySettings) {
  Description still = TwoLayers();
  still.groups = {{.pattern = "w1", .rate = 0}};
  const std::map<std::string, std::string> settings = {{"freeze", "w1"}};
  for (const Split& split : {Split{}, Split{.data = 2, .model = 2}}) {
    Session frozen = Start(split, {.f64 = true, .settings = settings});
    Session trained = Start({}, {.f64 = true}, still);
    const std::vector<std::byte> before = frozen.Read("w1")->bytes;
    const std::vector<std::string> states = frozen.states();
    EXPECT_EQ(std::ranges::find(states, "w1@momentum"), states.end());
    for (int step = 0; step < 3; ++step) {
      const Data data(step);
      const std::vector<double> x(data.x.begin(), data.x.end());
      const Fields fields = {{"x", {Type::kF64, {kBatch, 6}, x.data()}},
                             {"labels", {Type::kI32, {kBatch}, data.labels.data()}}};
      const Result<StepResult> found = frozen.Train(fields), wanted = trained.Train(fields);
      ASSERT_TRUE(found.ok() && wanted.ok());
      EXPECT_NEAR(found->loss, wanted->loss, 1e-14);
    }
    EXPECT_EQ(frozen.Read("w1")->bytes, before);
    const auto doubles = [](const std::vector<std::byte>& bytes) {
      std::vector<double> numbers(bytes.size() / sizeof(double));
      std::memcpy(numbers.data(), bytes.data(), bytes.size());
      return numbers;
    };
    EXPECT_THAT(doubles(frozen.Read("w2")->bytes),
                testing::Pointwise(testing::DoubleNear(1e-14), doubles(trained.Read("w2")->bytes)));
  }
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Library, ResumesFromItsFileToTheBit) {
  Description description = TwoLayers();
  description.optimizer = "adam";
  description.optimizer_attributes = {};
  description.learning_rate = 0.01;
  description.average = MovingAverage{.decay = 0.9};
  const std::string path = testing::TempDir() + "/resumed.safetensors", end = testing::TempDir() + "/end.safetensors";
  Session straight = Start({.data = 2}, {}, description), before = Start({.data = 2}, {}, description);
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(before.Train(Data(step).fields()).ok());
  ASSERT_FALSE(before.Save(path).has_value());
  EXPECT_THAT(ContentsOf(path), HasSubstr("\"partita.step\":\"3\""));
  Session after = Start({.data = 2}, {}, description);
  ASSERT_FALSE(after.Load(path).has_value());
  ASSERT_FALSE(after.Save(end).has_value());
  EXPECT_EQ(ContentsOf(end), ContentsOf(path)) << "what is loaded is saved";
  for (int step = 0; step < 6; ++step) {
    const Result<StepResult> expected = straight.Train(Data(step).fields());
    ASSERT_TRUE(expected.ok());
    if (step >= 3) {
      const Result<StepResult> resumed = after.Train(Data(step).fields());
      ASSERT_TRUE(resumed.ok()) << resumed.error().message;
      EXPECT_EQ(resumed->loss, expected->loss);
    }
  }
  for (const std::string& state : straight.states()) {
    EXPECT_EQ(after.Read(state)->bytes, straight.Read(state)->bytes) << state;
  }
  Session weights = Start({}, {}, description);
  ASSERT_FALSE(weights.LoadWeights(path).has_value());
  EXPECT_EQ(weights.Read("w1")->bytes, before.Read("w1")->bytes);
  EXPECT_EQ(weights.Read("w1@average")->bytes, before.Read("w1@average")->bytes);
  EXPECT_THAT(weights.Read("@iteration")->bytes, testing::Each(std::byte{0}));
  Session other = Start({}, {});
  EXPECT_THAT(other.Load(path)->message, HasSubstr("does the optimizer have it?"));
  EXPECT_TRUE(other.Train(Data(0).fields()).ok()) << "a file that does not suit changes nothing";
  Session predicts = Start({.model = 2}, {.predict = {"logits"}, .train = false}, description);
  ASSERT_FALSE(predicts.Load(path).has_value());
  ASSERT_FALSE(predicts.Save(end).has_value());
  EXPECT_THAT(ContentsOf(end), testing::Not(HasSubstr("partita.step")));
  ASSERT_FALSE(weights.Load(end).has_value()) << "a file of weights is taken by a session that trains";
}

TEST(Library, ShippedModelsAndStrategiesStart) {
  const std::string folder = "tools/models/examples/";
  const Result<Model> model = Model::FromFile(folder + "lenet5.pbtxt");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Result<Session> session =
      Session::Start(*model->WithBatch(8), {.strategy_file = folder + "lenet5_groups.pbtxt"}, {.steps = 10});
  EXPECT_TRUE(session.ok()) << session.error().message;
}

}  // namespace
}  // namespace partita::api
