// What is saved, and what is not.
#include "runtime/train/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/models/models.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

class SavedStates : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = MakeModel("lenet5", {.batch = 4, .image_size = 12}, Ops()).value();
    model_.learning_rate.steps = 1;
    const Strategy strategy = DataModelStrategy(model_.graph, 1, 2).value();
    SessionOptions options;
    options.threads_per_rank = 1;
    session_ = Session::Start(MakeProgram(model_, strategy, Ops(), {}).value(), options).value();
    path_ = ::testing::TempDir() + "/model_" + std::to_string(::getpid()) + ".safetensors";
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  absl::StatusOr<CheckedFile> Check(States states) {
    ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(model_, path_));
    return std::move(file).Check(session_->program(), states);
  }

  void SetElement(const std::string& state, size_t element, float value) {
    HostTensor tensor = session_->ReadState(state).value();
    std::memcpy(tensor.bytes.data() + element * sizeof(value), &value, sizeof(value));
    ASSERT_TRUE(session_->WriteState(state, tensor).ok());
  }

  float FirstElement(const std::string& state) {
    const HostTensor tensor = session_->ReadState(state).value();
    float value = 0;
    std::memcpy(&value, tensor.bytes.data(), sizeof(value));
    return value;
  }

  Model model_;
  std::unique_ptr<Session> session_;
  std::string path_;
};

TEST_F(SavedStates, WhatIsSavedIsLoaded) {
  const std::string state = session_->StateNames()[0];
  SetElement(state, 1, 0.5F);
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kAll, path_).ok());
  const HostTensor saved = session_->ReadState(state).value();
  SetElement(state, 1, 7);
  ASSERT_TRUE(LoadStates(*session_, Check(States::kAll).value()).ok());
  EXPECT_EQ(session_->ReadState(state)->bytes, saved.bytes);
}

class AveragedStates : public SavedStates {
 protected:
  void SetUp() override {
    SavedStates::SetUp();
    without_average_ = model_;
    model_.optimizer.average = MovingAverage{0.9};
    other_ = std::move(session_);  // without averages
    session_ = Session::Start(MakeProgram(model_, Strategy{}, Ops(), {}).value(), {}).value();
  }

  Model without_average_;
  std::unique_ptr<Session> other_;
  const std::string weights_ = "classifier/matmul/weights", average_ = "classifier/matmul/weights@average";
};

TEST_F(AveragedStates, AreWhatEvaluationReads) {
  SetElement(weights_, 1, 0.5F);
  SetElement(average_, 1, 0.25F);
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kEvaluated, path_).ok());
  const HostTensor weights = session_->ReadState(weights_).value(), average = session_->ReadState(average_).value();
  SetElement(weights_, 1, 7);
  SetElement(average_, 1, 7);
  ASSERT_TRUE(LoadStates(*session_, Check(States::kEvaluated).value()).ok());
  EXPECT_EQ(session_->ReadState(weights_)->bytes, weights.bytes);
  EXPECT_EQ(session_->ReadState(average_)->bytes, average.bytes);
}

TEST_F(AveragedStates, BeginWithTheWeightsOfAModelThatHasNone) {
  ASSERT_TRUE(SaveStates(*other_, without_average_, {}, States::kWeights, path_).ok());
  SetElement(average_, 1, 7);
  ASSERT_TRUE(LoadStates(*session_, Check(States::kWeights).value()).ok());
  EXPECT_EQ(session_->ReadState(average_)->bytes, other_->ReadState(weights_)->bytes);
}

// What an older version saved, or another writer: no slots, and nothing in the metadata.
TEST_F(SavedStates, WeightsAloneLoadAndLeaveTheRest) {
  SetElement("classifier/matmul/weights", 0, 0.5F);
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kWeights, path_).ok());
  SetElement("classifier/matmul/weights", 0, 7);
  SetElement("classifier/matmul/weights@momentum", 0, 3);
  const CheckedFile file = Check(States::kWeights).value();
  EXPECT_EQ(file.Find("classifier/matmul/weights@momentum"), nullptr);
  ASSERT_TRUE(LoadStates(*session_, file).ok());
  EXPECT_EQ(FirstElement("classifier/matmul/weights"), 0.5F);
  EXPECT_EQ(FirstElement("classifier/matmul/weights@momentum"), 3);
  EXPECT_THAT(std::string(Check(States::kAll).status().message()),
              HasSubstr("not found, but training has such a state"));
}

TEST_F(SavedStates, EvaluationLeavesInTheFileWhatItDoesNotRead) {
  SetElement("classifier/matmul/weights@momentum", 0, 3);
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kAll, path_).ok());
  SetElement("classifier/matmul/weights@momentum", 0, 4);
  ASSERT_TRUE(LoadStates(*session_, Check(States::kEvaluated).value()).ok());
  EXPECT_EQ(FirstElement("classifier/matmul/weights@momentum"), 4);
  ASSERT_TRUE(LoadStates(*session_, Check(States::kAll).value()).ok());
  EXPECT_EQ(FirstElement("classifier/matmul/weights@momentum"), 3);
}

TEST_F(SavedStates, AFileThatIsChangedBetweenTwoReadingsIsNamed) {
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kWeights, path_).ok());
  const CheckedFile file = Check(States::kWeights).value();
  std::string bytes = ReadFile(path_, 1 << 30).value();
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path_, bytes).ok());
  EXPECT_THAT(std::string(LoadStates(*session_, file).message()), HasSubstr("the file was changed while it was read"));
  ASSERT_TRUE(WriteFileAtomically(path_, bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_THAT(std::string(LoadStates(*session_, file).message()), HasSubstr("the file was changed while it was read"));
}

// By the header, before memory is taken.
TEST_F(SavedStates, TensorsThatTrainingDoesNotHaveAreRefused) {
  const auto refusal = [&](const std::string& name, std::vector<int64_t> shape) {
    const std::vector<float> values(100, 1);
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    const NamedTensor tensor{name, DType::kF32, shape, std::as_bytes(std::span(values).first(elements))};
    EXPECT_TRUE(SaveSafetensors(path_, {&tensor, 1}, {}).ok());
    const absl::StatusOr<CheckedFile> read = Check(States::kAll);
    return std::string(read.status().message());
  };
  EXPECT_THAT(refusal("x@momentum", {2}), HasSubstr(R"(tensor "x@momentum" is no parameter)"));
  EXPECT_THAT(refusal("classifier/bias/values@mean", {10}), HasSubstr("training has no such state here"));
  EXPECT_THAT(refusal("classifier/bias/values", {11}), HasSubstr("found F32[11], needed is [10]"));
}

TEST_F(SavedStates, AnotherPrecisionIsNamed) {
  const std::vector<double> values(10, 1);
  const NamedTensor tensor{"classifier/bias/values", DType::kF64, {10}, std::as_bytes(std::span(values))};
  ASSERT_TRUE(SaveSafetensors(path_, {&tensor, 1}, {}).ok());
  EXPECT_THAT(std::string(Check(States::kWeights).status().message()),
              HasSubstr("found F64[10], needed is F32[10]; --precision=f64 reads it"));
}

TEST_F(SavedStates, TheNumberOfTheStepIsToldOnce) {
  ModelRecord record;
  record.training = {5, {}, {}};
  ASSERT_TRUE(SaveStates(*session_, model_, record, States::kAll, path_).ok());
  EXPECT_THAT(std::string(Check(States::kAll).status().message()),
              HasSubstr("tensor @iteration: found 0, the metadata speaks of step 5"));
  record.training->step = 0;
  ASSERT_TRUE(SaveStates(*session_, model_, record, States::kAll, path_).ok());
  EXPECT_TRUE(Check(States::kAll).ok());
}

TEST_F(SavedStates, ValuesThatAreNotFiniteReplaceNothing) {
  ASSERT_TRUE(SaveStates(*session_, model_, {}, States::kWeights, path_).ok());
  const std::string good = ReadFile(path_, 1 << 30).value();
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    SetElement("classifier/matmul/weights", 3, value);
    const absl::Status saved = SaveStates(*session_, model_, {}, States::kWeights, path_);
    EXPECT_EQ(saved.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(saved.message()),
                HasSubstr(path_ + ": not written: element 3 of 'classifier/matmul/weights' is not finite; 1 of 10"));
    EXPECT_EQ(ReadFile(path_, 1 << 30).value(), good);
  }
}

}  // namespace
}  // namespace partita
