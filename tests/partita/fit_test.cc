// The library trains on files, in any split that a caller may ask for, and can be stopped and continued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "partita/partita.h"
#include "tests/testing/npy_file.h"

namespace partita::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kBatch = 8, kSamples = 40, kTestSamples = 11;  // the last batch of the test set is not full

Description Classifier() {
  const auto parameter = [](std::vector<int64_t> shape) {
    return Attributes{{"shape", std::move(shape)}, {"initializer", std::string("glorot_uniform")}};
  };
  Description model;
  model.name = "classifier";
  model.nodes = {
      {"x", "input", {}, {{"shape", std::vector<int64_t>{kBatch, 6}}}},
      {"labels", "input", {}, {{"shape", std::vector<int64_t>{kBatch}}, {"dtype", std::string("i32")}}},
      {"w1", "parameter", {}, parameter({6, 10})},
      {"w2", "parameter", {}, parameter({10, 4})},
      {"h", "matmul", {"x", "w1"}, {}},
      {"r", "relu", {"h"}, {}},
      {"logits", "matmul", {"r", "w2"}, {}},
      {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}},
      {"accuracy", "accuracy", {"logits", "labels"}, {}},
  };
  model.loss = "loss";
  model.metrics = {"accuracy"};
  model.optimizer_attributes = {{"momentum", 0.9}};
  return model;
}

void WriteSet(const std::string& folder, int64_t samples) {
  std::filesystem::create_directories(folder);
  std::vector<float> x(static_cast<size_t>(samples * 6));
  std::vector<int32_t> labels(static_cast<size_t>(samples));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 97) * 0.7f);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(x[i * 6] > 0) + 2 * (x[i * 6 + 1] > 0);
  WriteNpy(folder + "/x.npy", "<f4", {samples, 6}, x);
  WriteNpy(folder + "/labels.npy", "<i4", {samples}, labels);
}

class Fitting : public testing::Test {
 protected:
  Fitting() {
    std::filesystem::remove_all(folder_);
    WriteSet(folder_ + "/data/train", kSamples);
    WriteSet(folder_ + "/data/test", kTestSamples);
  }

  Result<Session> TryToStart(const Split& split, std::map<std::string, std::string> settings, Options options = {}) {
    const Result<Model> model = Model::FromDescription(Classifier());
    EXPECT_TRUE(model.ok()) << model.error().message;
    options.threads_per_rank = 1;
    options.data = folder_ + "/data";
    options.settings = std::move(settings);
    return Session::Start(*model, split, options);
  }
  Session Start(const Split& split, std::map<std::string, std::string> settings, const Options& options = {}) {
    Result<Session> session = TryToStart(split, std::move(settings), options);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  const std::string folder_ = testing::TempDir() + "/fit_test";
};

std::map<std::string, std::vector<std::byte>> StatesOf(const Session& session) {
  std::map<std::string, std::vector<std::byte>> states;
  for (const std::string& name : session.states()) states[name] = session.Read(name)->bytes;
  return states;
}

TEST_F(Fitting, TrainsToTheEndOfTheRun) {
  Session session = Start({.data = 2}, {{"epochs", "6"}});
  std::vector<Epoch> seen;
  const Result<FitResult> fitted = session.Fit({.on_epoch = [&](const Epoch& epoch) { seen.push_back(epoch); }});
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(fitted->steps, 6 * kSamples / kBatch);
  EXPECT_EQ(fitted->samples, 6 * kSamples);
  EXPECT_FALSE(fitted->stopped);
  ASSERT_EQ(fitted->epochs.size(), 6u);
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[5].number, 6);
  EXPECT_LT(seen[5].loss, seen[0].loss);
  ASSERT_TRUE(seen[5].test_loss.has_value());
  EXPECT_EQ(seen[5].test_metrics.count("accuracy"), 1u);
  const Result<FitResult> again = session.Fit();
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("all 30 steps of the run are done; settings epochs and steps"));
}

TEST_F(Fitting, ACallbackMayDestroyItsSession) {
  std::optional<Session> session = Start({.data = 2}, {{"epochs", "1000000"}});
  ErrorCode refused = ErrorCode::kInternal;
  int epochs = 0;
  const Result<FitResult> fitted = session->Fit({.on_epoch = [&](const Epoch&) {
    if (++epochs != 2) return;
    const Outcome saved = session->Save(folder_ + "/never.safetensors");
    if (saved) refused = saved->code;
    session.reset();
  }});
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_TRUE(fitted->stopped);
  EXPECT_GE(fitted->epochs.size(), 2u);
  EXPECT_EQ(refused, ErrorCode::kMisuse);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/never.safetensors"));
}

TEST_F(Fitting, GoesOnWhereItWasStoppedWithTheSameBits) {
  const std::map<std::string, std::string> settings = {{"steps", "13"}};
  Session whole = Start({.data = 2}, settings), stopped = Start({.data = 2}, settings);
  ASSERT_TRUE(whole.Fit().ok());
  int64_t steps = 0;
  int calls = 0;
  for (bool more = true; more; ++calls) {
    ASSERT_LT(calls, 20);
    const Result<FitResult> part =
        stopped.Fit({.on_progress = [](const Progress&) { return false; }, .progress_seconds = 0});
    ASSERT_TRUE(part.ok()) << part.error().message;
    steps += part->steps;
    EXPECT_EQ(part->step, steps);
    more = part->stopped;  // not at the end of the run
    const std::vector<float> x(kBatch * 6, 0.5f);
    const std::vector<int32_t> labels(kBatch, 1);
    EXPECT_TRUE(
        stopped
            .Evaluate({{"x", {Type::kF32, {kBatch, 6}, x.data()}}, {"labels", {Type::kI32, {kBatch}, labels.data()}}})
            .ok())
        << "the session stays usable";
  }
  EXPECT_GT(calls, 2);
  EXPECT_EQ(steps, 13);
  EXPECT_EQ(StatesOf(stopped), StatesOf(whole));
}

TEST_F(Fitting, EndsAtADeadlineAndAtAnInterruption) {
  Session session = Start({}, {{"steps", "1000000"}});
  const Result<FitResult> late = session.Fit({.deadline_seconds = 1e-9});
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_TRUE(late->stopped);
  EXPECT_GE(late->steps, 1);
  EXPECT_LE(late->steps, 3);
  const Result<FitResult> interrupted = session.Fit({.on_progress =
                                                         [&](const Progress& progress) {
                                                           EXPECT_EQ(progress.steps, 1000000);
                                                           session.Interrupt();
                                                           return true;
                                                         },
                                                     .progress_seconds = 0});
  ASSERT_TRUE(interrupted.ok()) << interrupted.error().message;
  EXPECT_TRUE(interrupted->stopped);
}

TEST_F(Fitting, ResumesFromItsCheckpointsWithTheSameBits) {
  const std::string checkpoints = folder_ + "/checkpoints";
  Session whole = Start({.data = 2}, {{"steps", "11"}});
  ASSERT_TRUE(whole.Fit().ok());
  {
    Session first = Start({.data = 2}, {{"steps", "4"}, {"checkpoint", checkpoints}});
    ASSERT_TRUE(first.Fit().ok());
  }
  Session second = Start({.data = 2}, {{"steps", "11"}, {"checkpoint", checkpoints}, {"resume", "auto"}});
  const Result<FitResult> fitted = second.Fit();
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  EXPECT_EQ(fitted->steps, 7);
  EXPECT_EQ(StatesOf(second), StatesOf(whole));
}

TEST_F(Fitting, FindsASplit) {
  Session found = Start({.search = "auto", .ranks = 2, .cluster = "two_cores"}, {{"steps", "5"}});
  Session alone = Start({}, {{"steps", "5"}});
  ASSERT_TRUE(found.Fit().ok());
  ASSERT_TRUE(alone.Fit().ok());
  const Result<Tensor> a = found.Read("w1"), b = alone.Read("w1");
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < a->bytes.size(); i += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a->bytes[i], sizeof(x));
    std::memcpy(&y, &b->bytes[i], sizeof(y));
    EXPECT_NEAR(x, y, 1e-5);
  }
}

TEST_F(Fitting, SaysWhichSettingIsWrong) {
  const auto error = [&](const Split& split, std::map<std::string, std::string> settings, const Options& options = {}) {
    const Result<Session> session = TryToStart(split, std::move(settings), options);
    return session.ok() ? "" : session.error().message;
  };
  EXPECT_THAT(error({}, {{"epoch", "3"}}), HasSubstr("there is no setting 'epoch'; did you mean 'epochs'?"));
  EXPECT_THAT(error({}, {{"epochs", "many"}}), HasSubstr("setting epochs: the value is 'many'; an integer"));
  EXPECT_THAT(error({.data = 2}, {{"dp", "4"}}), HasSubstr("setting dp: a field of Split or Options says it as well"));
  EXPECT_THAT(error({}, {{"report", "r.json"}}), HasSubstr("there is no setting 'report'")) << "results are returned";
  EXPECT_THAT(error({.search = "auto"}, {}), HasSubstr("setting search=auto needs cluster or profile"));
  EXPECT_THAT(error({.data = 2, .search = "auto"}, {}), HasSubstr("Split::search is 'auto', and the split says 2 x 1"));
  EXPECT_THAT(error({}, {{"save-every", "3"}}),
              HasSubstr("setting save-every=3 needs save or save-adapter: it says how often"));
  EXPECT_THAT(error({}, {}, {.predict = {"logits"}, .train = false}), HasSubstr("setting data is for Fit"));
}

TEST_F(Fitting, TakesNoBatchesBesideItsFiles) {
  Session session = Start({}, {});
  const std::vector<float> x(kBatch * 6);
  const std::vector<int32_t> labels(kBatch);
  const Result<StepResult> step =
      session.Train({{"x", {Type::kF32, {kBatch, 6}, x.data()}}, {"labels", {Type::kI32, {kBatch}, labels.data()}}});
  ASSERT_FALSE(step.ok());
  EXPECT_THAT(step.error().message, HasSubstr("the session trains on the setting data, by Fit"));
}

TEST(Predicting, TakesAnyNumberOfSamplesUpToTheGraphsBatch) {
  const Result<Model> model = Model::FromDescription(Classifier());
  ASSERT_TRUE(model.ok());
  for (const Split& split : {Split{}, Split{.data = 3}, Split{.model = 2}}) {
    Result<Session> session =
        Session::Start(*model, split, {.threads_per_rank = 1, .predict = {"logits"}, .train = false});
    ASSERT_TRUE(session.ok()) << session.error().message;
    std::vector<float> x(kBatch * 6);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<float>(i));
    const auto predict = [&](int64_t rows) { return session->Predict({{"x", {Type::kF32, {rows, 6}, x.data()}}}); };
    const auto whole = predict(kBatch);
    ASSERT_TRUE(whole.ok());
    for (const int64_t rows : {1, 3, 7}) {
      const auto some = predict(rows);
      ASSERT_TRUE(some.ok()) << some.error().message;
      EXPECT_THAT(some->at("logits").shape, ElementsAre(rows, 4));
      EXPECT_EQ(some->at("logits").bytes, std::vector<std::byte>(whole->at("logits").bytes.begin(),
                                                                 whole->at("logits").bytes.begin() + rows * 16));
    }
    for (const int64_t rows : {0, 9}) {
      const auto none = predict(rows);
      ASSERT_FALSE(none.ok());
      EXPECT_THAT(none.error().message, HasSubstr("expected 1 to 8, the graph's batch"));
    }
  }
}

TEST(Describing, SetsTheScheduleOfTheLearningRate) {
  Description description = Classifier();
  description.schedule = {{"schedule", std::string("cosine")}, {"warmup_steps", int64_t{2}}, {"final", 0.01}};
  EXPECT_TRUE(Model::FromDescription(description).ok());
  description.schedule = {{"schedule", std::string("cosinus")}};
  EXPECT_THAT(Model::FromDescription(description).error().message, HasSubstr("cosinus"));
  description.schedule = {{"warmup", int64_t{2}}};
  EXPECT_THAT(Model::FromDescription(description).error().message, HasSubstr("'warmup' has another type"));
  description.schedule = {{"warmup_step", int64_t{2}}};
  EXPECT_THAT(Model::FromDescription(description).error().message, HasSubstr("did you mean 'warmup_steps'?"));
}

}  // namespace
}  // namespace partita::api
