// A program that is written against partita.h trains on an emulated GPU: alone and with several ranks on it, as on the
// host, and its files go from one to the other. It includes nothing of the project but the public header.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "partita/partita.h"

namespace partita::api {
namespace {

constexpr int64_t kBatch = 8;
constexpr char kScores[] = "classifier/bias";
// As the suites of the host allow between splits, and what rounding to bf16 may add.
constexpr double kBar = 1e-5, kBarOfBf16 = 2e-2;

struct Data {
  explicit Data(int step) : images(kBatch * 28 * 28), labels(kBatch) {
    for (size_t i = 0; i < images.size(); ++i) {
      images[i] = std::sin(static_cast<float>(i) * 0.37f + static_cast<float>(step));
    }
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i * 7 + static_cast<size_t>(step)) % 10;
  }
  Fields fields() const {
    return {{"images", {Type::kF32, {kBatch, 28, 28, 1}, images.data()}},
            {"labels", {Type::kI32, {kBatch}, labels.data()}}};
  }
  std::vector<float> images;
  std::vector<int32_t> labels;
};

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

using States = std::map<std::string, std::vector<std::byte>>;

States StatesOf(const Session& session) {
  States states;
  for (const std::string& name : session.states()) states[name] = session.Read(name)->bytes;
  return states;
}

class LibraryOnGpu : public testing::Test {
 protected:
  LibraryOnGpu() {
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);  // plans of libraries
  }
  ~LibraryOnGpu() override { std::filesystem::remove_all(folder_); }

  // LeNet-5, at a learning rate that does not depend on how many steps a run has.
  static Result<Session> TryToStart(const Split& split, Options options) {
    std::ifstream file("tools/models/examples/lenet5.pbtxt");
    const std::string shipped{std::istreambuf_iterator<char>(file), {}};
    const std::regex rate("\nlearning_rate .*");
    EXPECT_TRUE(std::regex_search(shipped, rate));
    const Result<Model> read =
        Model::FromText(std::regex_replace(shipped, rate, "\nlearning_rate { schedule: \"constant\" base: 0.01 }"));
    EXPECT_TRUE(read.ok()) << read.error().message;
    const Result<Model> model = read->WithBatch(kBatch);
    EXPECT_TRUE(model.ok()) << model.error().message;
    options.threads_per_rank = 1;
    if (options.train) options.predict = {kScores};
    return Session::Start(*model, split, options);
  }
  static Session Start(const Split& split, const Options& options) {
    Result<Session> session = TryToStart(split, options);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  const std::string folder_ = testing::TempDir() + "/library_on_gpu";
};

void ExpectNear(const Result<Tensor>& found, const Result<Tensor>& expected, double bar, const std::string& what) {
  ASSERT_TRUE(found.ok() && expected.ok()) << what;
  ASSERT_EQ(found->shape, expected->shape) << what;
  const std::vector<float> a = Floats(*found), b = Floats(*expected);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], bar * (1 + std::abs(b[i]))) << what << " " << i;
}

Result<Tensor> Scores(Session& session, const Data& data) {
  Result<std::map<std::string, Tensor>> predicted = session.Predict({{"images", data.fields().at("images")}});
  if (!predicted) return predicted.error();
  return predicted->at(kScores);
}

void ExpectTrainsAlike(Session& gpu, Session& host, double bar) {
  for (int step = 0; step < 3; ++step) {
    const Data data(step);
    const Result<StepResult> found = gpu.Train(data.fields()), expected = host.Train(data.fields());
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    EXPECT_NEAR(found->loss, expected->loss, bar * (1 + expected->loss)) << "step " << step;
  }
  const Data data(9);
  const Result<StepResult> found = gpu.Evaluate(data.fields()), expected = host.Evaluate(data.fields());
  ASSERT_TRUE(found.ok() && expected.ok());
  EXPECT_NEAR(found->loss, expected->loss, bar * (1 + expected->loss));
  ExpectNear(Scores(gpu, data), Scores(host, data), bar, kScores);
  for (const std::string& name : host.states()) ExpectNear(gpu.Read(name), host.Read(name), bar, name);
}

const std::vector<Split>& Splits() {
  static const auto& splits = *new std::vector<Split>{{},
                                                      {.data = 2},
                                                      {.model = 2},
                                                      {.data = 2, .model = 2},
                                                      {.strategy_file = "tools/models/examples/lenet5_pipeline.pbtxt"}};
  return splits;
}

std::string Name(const Split& split) {
  return std::to_string(split.data) + "x" + std::to_string(split.model) + split.strategy_file;
}

TEST_F(LibraryOnGpu, TrainsEvaluatesAndPredictsAsOnTheHost) {
  for (const Split& split : Splits()) {
    SCOPED_TRACE(Name(split));
    Session host = Start({}, {}), gpu = Start(split, {.device = Device::kCuda});
    ExpectTrainsAlike(gpu, host, kBar);
  }
}

// From the second step on it is another training: a relu that is rounded to the other side of 0 changes gradients.
TEST_F(LibraryOnGpu, PredictsInBf16AsOnTheHost) {
  for (const Split& split : Splits()) {
    SCOPED_TRACE(Name(split));
    Session host = Start({}, {.mixed_precision = true});
    Session gpu = Start(split, {.mixed_precision = true, .device = Device::kCuda});
    const Data data(0);
    ExpectNear(Scores(gpu, data), Scores(host, data), kBarOfBf16, kScores);
    const Result<StepResult> found = gpu.Train(data.fields()), expected = host.Train(data.fields());
    ASSERT_TRUE(found.ok() && expected.ok());
    EXPECT_NEAR(found->loss, expected->loss, kBarOfBf16 * (1 + expected->loss));
    for (int step = 1; step < 3; ++step) {
      const Result<StepResult> further = gpu.Train(Data(step).fields());
      ASSERT_TRUE(further.ok()) << further.error().message;
      EXPECT_TRUE(std::isfinite(further->loss));
    }
  }
}

// Of one file, read on either device, the same states; training resumes from it with the same bits.
TEST_F(LibraryOnGpu, CarriesItsStatesThroughAFile) {
  const std::string path = folder_ + "/saved.safetensors";
  Session gpu = Start({.data = 2}, {.device = Device::kCuda});
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(gpu.Train(Data(step).fields()).ok());
  ASSERT_FALSE(gpu.Save(path).has_value());
  const States saved = StatesOf(gpu);
  ASSERT_TRUE(gpu.Train(Data(2).fields()).ok());

  Session again = Start({.data = 2}, {.seed = 7, .device = Device::kCuda});
  Session host = Start({}, {.seed = 8});
  for (Session* other : {&again, &host}) {
    ASSERT_FALSE(other->Load(path).has_value());
    EXPECT_EQ(StatesOf(*other), saved);
    ASSERT_TRUE(other->Train(Data(2).fields()).ok());
  }
  EXPECT_EQ(StatesOf(again), StatesOf(gpu));
  for (const std::string& name : gpu.states()) ExpectNear(host.Read(name), gpu.Read(name), kBar, name);

  Session predicts = Start({}, {.predict = {kScores}, .train = false, .device = Device::kCuda});
  ASSERT_FALSE(predicts.Load(path).has_value());
  ASSERT_FALSE(host.Load(path).has_value());
  ExpectNear(Scores(predicts, Data(3)), Scores(host, Data(3)), kBar, kScores);
}

// Fit, stopped between two steps and continued from its checkpoint, ends with the bits of one that was not.
TEST_F(LibraryOnGpu, ResumesFromItsCheckpoints) {
  const auto states_after = [&](const Split& split, std::map<std::string, std::string> settings) {
    settings.insert({{"mock-data", "true"}, {"batch", "8"}});
    Session session = Start(split, {.device = Device::kCuda, .settings = std::move(settings)});
    const Result<FitResult> fitted = session.Fit();
    EXPECT_TRUE(fitted.ok()) << fitted.error().message;
    return StatesOf(session);
  };
  const std::string checkpoints = folder_ + "/checkpoints";
  const States whole = states_after({.data = 2}, {{"steps", "5"}});
  states_after({.data = 2}, {{"steps", "2"}, {"checkpoint", checkpoints}});
  const States resumed = states_after({.data = 2}, {{"steps", "5"}, {"checkpoint", checkpoints}, {"resume", "auto"}});
  EXPECT_EQ(resumed, whole);
}

// A label that is no class is found by the GPU: an error of that step alone, which changes no state.
TEST_F(LibraryOnGpu, AWrongBatchIsAnErrorOfThatCallAlone) {
  Session session = Start({.data = 2}, {.device = Device::kCuda}),
          other = Start({.data = 2}, {.device = Device::kCuda});
  Data wrong(1);
  wrong.labels[5] = 10;
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(other.Train(Data(step).fields()).ok());
    ASSERT_TRUE(session.Train(Data(step).fields()).ok());
    const Result<StepResult> failed = session.Train(wrong.fields());
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(failed.error().message.find("10"), std::string::npos) << failed.error().message;
  }
  EXPECT_EQ(StatesOf(session), StatesOf(other));
}

TEST_F(LibraryOnGpu, AMissingGpuIsUnavailable) {
  const Result<Session> session = TryToStart({}, {.device = Device::kCuda, .gpu = 3});
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("there is no device cuda:3; this machine has cuda:0"), std::string::npos)
      << session.error().message;
}

}  // namespace
}  // namespace partita::api
