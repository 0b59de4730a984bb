// A session survives its caller's mistakes: wrong numbers in a batch, two calls at once, fork, a session that was moved
// from. It includes nothing of the project but the public header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "partita/partita.h"

namespace partita::api {
namespace {

using testing::HasSubstr;

constexpr int64_t kSamples = 8, kPlaces = 3, kWords = 11, kClasses = 5;

std::vector<int64_t> Ints(std::initializer_list<int64_t> values) { return values; }

Node Parameter(const std::string& name, std::vector<int64_t> shape) {
  return {name, "parameter", {}, {{"shape", std::move(shape)}, {"initializer", std::string("glorot_uniform")}}};
}

Node Input(const std::string& name, std::vector<int64_t> shape, const char* dtype) {
  return {name, "input", {}, {{"shape", std::move(shape)}, {"dtype", std::string(dtype)}}};
}

// What all graphs below end with: [samples, places * 4] become classes, by a relu and a normalisation whose statistics
// are states as well.
void AddClassifier(const std::string& features, Description& model) {
  const std::vector<Node> nodes = {
      Input("labels", {kSamples}, "i32"),
      {"flat", "reshape", {features}, {{"shape", Ints({kSamples, kPlaces * 4})}}},
      Parameter("w1", {kPlaces * 4, 6}),
      {"h", "matmul", {"flat", "w1"}, {}},
      {"r", "relu", {"h"}, {}},
      Parameter("w2", {6, kClasses}),
      {"logits", "matmul", {"r", "w2"}, {}},
      {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}},
      {"accuracy", "accuracy", {"logits", "labels"}, {}},
  };
  model.nodes.insert(model.nodes.end(), nodes.begin(), nodes.end());
  model.loss = "loss";
  model.metrics = {"accuracy"};
  model.optimizer = "adam";
  model.learning_rate = 0.01;
}

// Ids choose rows of a table.
Description Words(bool row_gradients) {
  Description model{.name = "words"};
  model.nodes = {Input("ids", {kSamples, kPlaces}, "i32"),
                 Parameter("table", {kWords, 4}),
                 {"features", "embedding", {"table", "ids"}, {{"row_gradients", row_gradients}}}};
  AddClassifier("features", model);
  if (row_gradients) model.optimizer = "sgd";
  return model;
}

// Ids are computed: numbers of the batch, scaled and cut to integers, each read twice.
Description Computed() {
  Description model{.name = "computed"};
  model.nodes = {Input("numbers", {kSamples, kPlaces}, "f32"),
                 {"scaled", "scale", {"numbers"}, {{"factor", 2.0}}},
                 {"ids", "cast", {"scaled"}, {{"dtype", std::string("i32")}}},
                 Parameter("table", {kWords, 4}),
                 {"features", "embedding", {"table", "ids"}, {}}};
  AddClassifier("features", model);
  return model;
}

// Sequences that end at their lengths; what is left of them is carried on to the next batch.
Description Sequences(bool carry) {
  Description model{.name = "sequences"};
  model.nodes = {Input("ids", {kSamples, kPlaces}, "i32"),
                 Parameter("table", {kWords, 16}),
                 {"gates", "embedding", {"table", "ids"}, {}},
                 Parameter("w_h", {4, 16})};
  if (carry) {
    model.nodes.push_back({"features", "lstm", {"gates", "w_h", ""}, {{"carry", true}}});
  } else {
    model.nodes.push_back(Input("lengths", {kSamples}, "i32"));
    model.nodes.push_back({"features", "lstm", {"gates", "w_h", "", "", "", "lengths"}, {}});
  }
  AddClassifier("features", model);
  return model;
}

// Labels that the metric alone reads.
Description Judged() {
  Description model = Words(false);
  model.nodes.push_back(Input("judged", {kSamples}, "i32"));
  model.nodes.push_back({"accuracy_of_judged", "accuracy", {"logits", "judged"}, {}});
  model.metrics.push_back("accuracy_of_judged");
  return model;
}

// Ids out of which some convolution and pooling are made.
Description Pictures() {
  Description model{.name = "pictures"};
  model.nodes = {Input("ids", {kSamples, kPlaces}, "i32"),
                 Parameter("table", {kWords, 4}),
                 {"read", "embedding", {"table", "ids"}, {}},
                 {"picture", "reshape", {"read"}, {{"shape", Ints({kSamples, kPlaces, 2, 2})}}},
                 Parameter("kernel", {2, 1, 1, 2}),
                 {"convolved", "conv2d", {"picture", "kernel"}, {}},
                 {"positive", "relu", {"convolved"}, {}},
                 {"features", "reshape", {"positive"}, {{"shape", Ints({kSamples, kPlaces, 4})}}}};
  AddClassifier("features", model);
  return model;
}

// A batch for each of these graphs.
struct Batch {
  explicit Batch(int seed) {
    const auto number = [&](int i, int64_t below) {
      return static_cast<int32_t>((i * 7 + seed * 13 + i * seed) % below);
    };
    for (int i = 0; i < kSamples * kPlaces; ++i) {
      ids.push_back(number(i, kWords));
      numbers.push_back(0.5f * static_cast<float>(ids.back()) + 0.1f);
    }
    for (int i = 0; i < kSamples; ++i) {
      labels.push_back(number(i, kClasses));
      judged.push_back(number(i + 1, kClasses));
      lengths.push_back(number(i, kPlaces + 1));
    }
  }

  Fields Of(const Model& model) const {
    const Fields all = {{"ids", {Type::kI32, {kSamples, kPlaces}, ids.data()}},
                        {"numbers", {Type::kF32, {kSamples, kPlaces}, numbers.data()}},
                        {"labels", {Type::kI32, {kSamples}, labels.data()}},
                        {"judged", {Type::kI32, {kSamples}, judged.data()}},
                        {"lengths", {Type::kI32, {kSamples}, lengths.data()}}};
    Fields fields;
    for (const Field& field : model.fields()) fields[field.name] = all.at(field.name);
    return fields;
  }

  std::vector<int32_t> ids, labels, judged, lengths;
  std::vector<float> numbers;
};

// A wrong number in a batch, and what the error says.
struct Mistake {
  const char* what;
  std::function<void(Batch&)> make;
};

const std::vector<Mistake>& Mistakes() {
  static const auto& all = *new std::vector<Mistake>{
      {"ids", [](Batch& b) { b.ids[4] = kWords; }},
      {"ids", [](Batch& b) { b.ids[23] = -1; }},
      {"ids", [](Batch& b) { b.ids[0] = std::numeric_limits<int32_t>::max(); }},
      {"numbers", [](Batch& b) { b.numbers[7] = 1000; }},
      {"numbers", [](Batch& b) { b.numbers[20] = std::numeric_limits<float>::quiet_NaN(); }},
      {"labels", [](Batch& b) { b.labels[7] = kClasses; }},
      {"labels", [](Batch& b) { b.labels[0] = std::numeric_limits<int32_t>::min(); }},
      {"judged", [](Batch& b) { b.judged[6] = kClasses; }},
      {"lengths", [](Batch& b) { b.lengths[2] = kPlaces + 1; }},
      {"lengths", [](Batch& b) { b.lengths[5] = -1; }},
  };
  return all;
}

std::string Contents(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

std::map<std::string, std::string> StatesOf(const Session& session) {
  std::map<std::string, std::string> states;
  for (const std::string& name : session.states()) {
    const Result<Tensor> state = session.Read(name);
    EXPECT_TRUE(state.ok()) << state.error().message;
    states[name] = Contents(*state);
  }
  return states;
}

// What good calls of a session give, to the bit.
std::vector<double> GoodCalls(Session& session, const Model& model, int seed) {
  const Batch batch(seed);
  const Fields fields = batch.Of(model);
  std::vector<double> numbers;
  for (const Result<StepResult>& step : {session.Train(fields), session.Evaluate(fields)}) {
    EXPECT_TRUE(step.ok()) << step.error().message;
    if (!step) continue;
    numbers.push_back(step->loss);
    for (const auto& [name, value] : step->metrics) numbers.push_back(value);
  }
  const auto predicted = session.Predict(fields);
  EXPECT_TRUE(predicted.ok()) << predicted.error().message;
  if (!predicted) return numbers;
  std::vector<float> logits(predicted->at("logits").bytes.size() / sizeof(float));
  std::memcpy(logits.data(), predicted->at("logits").bytes.data(), predicted->at("logits").bytes.size());
  numbers.insert(numbers.end(), logits.begin(), logits.end());
  return numbers;
}

void ExpectRefused(const char* call, const std::string& says, ErrorCode code, const Error& error) {
  EXPECT_EQ(error.code, code) << call << ": " << error.message;
  EXPECT_THAT(error.message, HasSubstr(says)) << call;
}

// All mistakes that the model's fields allow, in each call that reads the field.
void MakeMistakes(Session& session, const Model& model, int seed) {
  for (const Mistake& mistake : Mistakes()) {
    Batch batch(seed);
    mistake.make(batch);
    const Fields fields = batch.Of(model);
    if (!fields.contains(mistake.what)) continue;
    const std::string found = "sample ";
    const Result<StepResult> trained = session.Train(fields), evaluated = session.Evaluate(fields);
    ASSERT_FALSE(trained.ok() || evaluated.ok()) << mistake.what;
    ExpectRefused("Train", found, ErrorCode::kInvalidArgument, trained.error());
    ExpectRefused("Evaluate", found, ErrorCode::kInvalidArgument, evaluated.error());
    if (std::string(mistake.what) == "labels" || std::string(mistake.what) == "judged") continue;
    const auto predicted = session.Predict(fields);
    ASSERT_FALSE(predicted.ok()) << mistake.what;
    ExpectRefused("Predict", found, ErrorCode::kInvalidArgument, predicted.error());
  }
  const Batch batch(seed);
  Fields wrong = batch.Of(model);
  wrong["labels"].shape = {kSamples + 1};
  EXPECT_FALSE(session.Train(wrong).ok());
  EXPECT_FALSE(session.Evaluate(wrong).ok());
  wrong = batch.Of(model);
  wrong["labels"].type = Type::kF32;
  EXPECT_FALSE(session.Train(wrong).ok());
  wrong = batch.Of(model);
  wrong.erase(wrong.begin());
  EXPECT_FALSE(session.Predict(wrong).ok() && session.Train(wrong).ok());
  wrong = batch.Of(model);
  wrong["unknown"] = wrong["labels"];
  EXPECT_FALSE(session.Train(wrong).ok());
  EXPECT_FALSE(session.Compute("nothing", wrong).ok());
}

// Two stages with four micro-batches: the table and what it feeds, then the rest.
constexpr char kPipeline[] = R"(
  schema_version: 1
  mesh { name: "stage" size: 2 }
  micro_batches: 4
  stage_axis: "stage"
  pipeline: "1f1b"
  ops { pattern: "h" axes { axis: "stage" split: "at" coordinate: 0 } }
  ops { pattern: "r" axes { axis: "stage" split: "at" coordinate: 1 } }
  ops { pattern: "logits" axes { axis: "stage" split: "at" coordinate: 1 } }
  ops { pattern: "loss" axes { axis: "stage" split: "at" coordinate: 1 } }
  ops { pattern: "accuracy*" axes { axis: "stage" split: "at" coordinate: 1 } }
  ops { pattern: "*" axes { axis: "stage" split: "at" coordinate: 0 } }
)";

struct Way {
  const char* name;
  Split split = {};
  const char* strategy = nullptr;  // the text of a file, in place of a split
};

class AMistake : public testing::TestWithParam<Way> {
 protected:
  static void Try(const Description& description, bool mixed_precision = false) {
    const Result<Model> model = Model::FromDescription(description);
    ASSERT_TRUE(model.ok()) << model.error().message;
    Split split = GetParam().split;
    if (GetParam().strategy != nullptr) {
      split.strategy_file = testing::TempDir() + "/mistakes.pbtxt";
      std::ofstream(split.strategy_file) << GetParam().strategy;
    }
    const Options options{.threads_per_rank = 1, .mixed_precision = mixed_precision, .predict = {"logits"}};
    Result<Session> good = Session::Start(*model, split, options), abused = Session::Start(*model, split, options);
    ASSERT_TRUE(good.ok() && abused.ok()) << good.error().message;
    for (int seed = 0; seed < 3; ++seed) {
      const auto before = StatesOf(*abused);
      ASSERT_NO_FATAL_FAILURE(MakeMistakes(*abused, *model, seed));
      EXPECT_EQ(StatesOf(*abused), before) << "no state changes";
      EXPECT_EQ(GoodCalls(*abused, *model, seed), GoodCalls(*good, *model, seed)) << "the same bits";
    }
    EXPECT_EQ(StatesOf(*abused), StatesOf(*good));
  }
};

TEST_P(AMistake, InIds) { Try(Words(false)); }
TEST_P(AMistake, InIdsOfATableWithGradientsByRows) { Try(Words(true)); }
TEST_P(AMistake, InIdsThatAreComputed) { Try(Computed()); }
TEST_P(AMistake, InLengths) { Try(Sequences(false)); }
TEST_P(AMistake, InWhatCarriesOnFromBatchToBatch) { Try(Sequences(true)); }
TEST_P(AMistake, InLabelsThatAMetricAloneReads) { Try(Judged()); }
TEST_P(AMistake, InFrontOfAConvolution) { Try(Pictures()); }
TEST_P(AMistake, InMixedPrecision) { Try(Words(false), /*mixed_precision=*/true); }

INSTANTIATE_TEST_SUITE_P(UnderAnySplit, AMistake,
                         testing::Values(Way{"serial"}, Way{"data", {.data = 4}}, Way{"model", {.model = 2}},
                                         Way{"both", {.data = 2, .model = 2}}, Way{"pipeline", {}, kPipeline}),
                         [](const auto& way) { return way.param.name; });

Session Start(const Options& options) {
  const Result<Model> model = Model::FromDescription(Words(false));
  EXPECT_TRUE(model.ok());
  Result<Session> session = Session::Start(*model, {.data = 2}, options);
  EXPECT_TRUE(session.ok()) << session.error().message;
  return *std::move(session);
}

Fields GoodFields(const Batch& batch) { return batch.Of(*Model::FromDescription(Words(false))); }

TEST(Misuse, TwoThreadsAtOnceAreAnError) {
  Session session = Start({.threads_per_rank = 1, .predict = {"logits"}});
  Session other = Start({.threads_per_rank = 1, .predict = {"logits"}});
  const Batch batch(0);
  const Fields fields = GoodFields(batch);
  std::atomic<int> done{0}, refused{0};
  std::atomic<bool> wrong{false};
  const auto count = [&](bool ok, const std::optional<Error>& error) {
    if (ok) return void(++done);
    ++refused;
    if (error->code != ErrorCode::kMisuse) wrong = true;
  };
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const Result<StepResult> step = session.Train(fields);
      count(step.ok(), step.ok() ? std::nullopt : std::optional(step.error()));
      const auto predicted = session.Predict(fields);
      if (!predicted.ok() && predicted.error().code != ErrorCode::kMisuse) wrong = true;
      const Result<Tensor> state = session.Read("w1");
      if (!state.ok() && state.error().code != ErrorCode::kMisuse) wrong = true;
      session.states();
      if (const Outcome written = session.Write("judge", fields.at("ids")); !written) wrong = true;
    }
  };
  std::thread first(work), second(work), third(work);
  first.join();
  second.join();
  third.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(done + refused, 150);
  EXPECT_GT(done, 0);
  for (int step = 0; step < done; ++step) ASSERT_TRUE(other.Train(fields).ok());
  EXPECT_EQ(StatesOf(session), StatesOf(other)) << "what was refused has done nothing";
}

TEST(Misuse, AForkedChildGetsErrors) {
  Session session = Start({.threads_per_rank = 1, .predict = {"logits"}});
  const Batch batch(0);
  const Fields fields = GoodFields(batch);
  ASSERT_TRUE(session.Train(fields).ok());
  const std::string path = testing::TempDir() + "/forked.safetensors";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a hang ends by a signal
    const auto misused = [](const auto& result) { return !result.ok() && result.error().code == ErrorCode::kMisuse; };
    const auto refused = [](const Outcome& outcome) { return outcome && outcome->code == ErrorCode::kMisuse; };
    bool right =
        misused(session.Train(fields)) && misused(session.Evaluate(fields)) && misused(session.Predict(fields));
    right = right && misused(session.Read("w1")) && refused(session.Save(path)) && refused(session.Load(path));
    right = right && refused(session.Write("w1", fields.at("ids"))) && session.states().empty();
    session.Cancel();
    {
      Session moved = std::move(session);
      right = right && misused(moved.Train(fields));
    }  // and may be destroyed
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(session.Train(fields).ok()) << "the parent's goes on";
}

TEST(Misuse, ASessionThatWasMovedFromGivesErrors) {
  Session session = Start({.threads_per_rank = 1, .predict = {"logits"}});
  const Batch batch(0);
  const Fields fields = GoodFields(batch);
  Session other = std::move(session);
  EXPECT_EQ(session.Train(fields).error().code, ErrorCode::kMisuse);
  EXPECT_EQ(session.Save("/nowhere")->code, ErrorCode::kMisuse);
  EXPECT_TRUE(session.states().empty());
  session.Cancel();
  EXPECT_TRUE(other.Train(fields).ok());
  session = std::move(other);
  EXPECT_TRUE(session.Train(fields).ok());
  Session& same = session;
  session = std::move(same);
  EXPECT_TRUE(session.Train(fields).ok());
}

TEST(Misuse, AfterCancelEveryCallSaysSo) {
  Session session = Start({.threads_per_rank = 1, .predict = {"logits"}});
  const Batch batch(0);
  const Fields fields = GoodFields(batch);
  session.Cancel();
  session.Cancel();
  EXPECT_EQ(session.Train(fields).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Evaluate(fields).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Predict(fields).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Read("w1").error().code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Save(testing::TempDir() + "/cancelled.safetensors")->code, ErrorCode::kCancelled);
  EXPECT_EQ(session.Load("/nowhere")->code, ErrorCode::kCancelled);
  EXPECT_TRUE(session.states().empty());
}

}  // namespace
}  // namespace partita::api
