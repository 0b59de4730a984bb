// What is known of an entry point by ids: inputs in the order of their micro-batches, results under the user's names.
#include "graph/ir/entry_point.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kModel[] = R"(state %w
%x = input() f32[8,4]
%y = input() field=truth i32[8]
%w = parameter() initializer=constant f32[4,3]
%z = matmul(%x, %w) f32[8,3]
%r = relu(%z) f32[8,3]
%l = softmax_cross_entropy(%r, %y, _) f32[]
%a = accuracy(%r, %y, _) f32[]
loss %l
metric %a
)";

Model MakeModelOf(const std::string& text) {
  Model model;
  model.graph = Parse(text);
  return model;
}

Program Make(int64_t micro_batches, std::vector<std::string> predictions = {}, int ranks = 1) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", ranks}};
  for (const char* input : {"x", "y"}) {
    OpConfig entry{input, {}, {}};
    entry.axes["data"].split = "samples";
    strategy.ops.push_back(entry);
  }
  strategy.pipeline.micro_batches = micro_batches;
  ProgramOptions options;
  options.predictions = std::move(predictions);
  options.verify_passes = true;
  absl::StatusOr<Program> program = MakeProgram(MakeModelOf(kModel), strategy, Ops(), options);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(EntryPoint, InputsAreFieldsWithAValueForEachMicroBatch) {
  for (const int64_t micro_batches : {1, 2, 4}) {
    const Program program = Make(micro_batches);
    for (const char* name : {kTrainEntry, kEvaluateEntry}) {
      const EntryPoint& entry = *program.Find(name);
      EXPECT_EQ(entry.FindInput("y"), nullptr) << "the field is called truth";
      for (const char* field : {"x", "truth"}) {
        const EntryInput* const input = entry.FindInput(field);
        ASSERT_NE(input, nullptr) << field;
        ASSERT_EQ(static_cast<int64_t>(input->values.size()), micro_batches);
        for (int64_t m = 0; m < micro_batches && micro_batches > 1; ++m) {
          EXPECT_EQ(entry.graph.node(entry.graph.value(input->values[m]).producer).micro_batch, m);
          EXPECT_EQ(entry.graph.type(input->values[m]).shape[0], 8 / micro_batches);
        }
      }
    }
    EXPECT_NE(program.Find(kEvaluateEntry)->FindInput("@sample_weight"), nullptr);
  }
}

TEST(EntryPoint, ResultsHaveTheNamesOfTheUsersGraph) {
  const Program program = Make(2, {}, 2);
  const EntryPoint& train = *program.Find(kTrainEntry);
  ASSERT_EQ(train.results.size(), 2u);
  EXPECT_EQ(train.results[0].name, "l");
  EXPECT_EQ(train.results[0].value, train.graph.loss);
  EXPECT_NE(train.graph.value(train.graph.loss).name, "l") << "it is a move of the sum over micro-batches";
  EXPECT_EQ(train.results[1].name, "a");
}

TEST(EntryPoint, FurtherLossesAreReportedByNameAndThoseOfTrainingInTrainingAlone) {
  const std::string further =
      "%h = input() f32[8,3]\n%m = mean_squared_error(%z, %h, _) f32[]\n%n = mean(%z) f32[]\nloss %l\nmetric %a\n"
      "further_loss %n 0.25\nfurther_loss %m 0.5 training_only\n";
  const std::string text = std::string(kModel).substr(0, std::string(kModel).find("loss %l")) + further;
  ProgramOptions options;
  options.predictions = {"z"};
  options.verify_passes = true;
  const absl::StatusOr<Program> program = MakeProgram(MakeModelOf(text), Strategy{}, Ops(), options);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto names = [&](const char* entry) {
    std::vector<std::string> names;
    for (const EntryResult& result : program->Find(entry)->results) names.push_back(result.name);
    return names;
  };
  EXPECT_EQ(names(kTrainEntry), (std::vector<std::string>{"l", "n", "m", "a"}));
  EXPECT_EQ(names(kEvaluateEntry), (std::vector<std::string>{"l", "n", "a"}));
  EXPECT_EQ(names(kPredictEntry), (std::vector<std::string>{"z"}));
  EXPECT_NE(program->Find(kTrainEntry)->FindInput("h"), nullptr);
  EXPECT_EQ(program->Find(kEvaluateEntry)->FindInput("h"), nullptr);
}

// Whether a step was applied is read with its results, and is none of them.
TEST(EntryPoint, ATrainingGraphKnowsWhetherItsStepIsApplied) {
  const Program program = Make(2, {}, 2);
  const EntryPoint& train = *program.Find(kTrainEntry);
  const ValueId apply = train.graph.apply;
  ASSERT_NE(apply, kNoValue);
  EXPECT_EQ(train.graph.type(apply), (TensorType{DType::kI32, {}}));
  for (const EntryResult& result : train.results) EXPECT_NE(result.value, apply);
  ASSERT_EQ(ReadByHost(train.graph).size(), train.results.size() + 1);
  EXPECT_EQ(ReadByHost(train.graph).back(), apply);
  EXPECT_EQ(program.graph(kEvaluateEntry).apply, kNoValue);
}

TEST(EntryPoint, AStateKnowsTheGradientThatItsUpdateReads) {
  for (const int ranks : {1, 2}) {
    const Program program = Make(1, {}, ranks);
    const Graph& train = program.graph(kTrainEntry);
    int gradients = 0;
    for (const State& state : train.states()) {
      const bool parameter = train.value(state.value).name == "w";
      EXPECT_EQ(state.gradient != kNoValue, parameter);
      if (!parameter) continue;
      ++gradients;
      const Node& update = train.node(train.value(state.update).producer);
      EXPECT_NE(std::find(update.inputs.begin(), update.inputs.end(), state.gradient), update.inputs.end());
    }
    EXPECT_EQ(gradients, 1);
  }
}

TEST(EntryPoint, PredictionNeedsNoLabels) {
  const Program program = Make(2, {"r", "z"}, 2);
  const EntryPoint* const predict = program.Find(kPredictEntry);
  ASSERT_NE(predict, nullptr);
  ASSERT_EQ(predict->inputs.size(), 1u);
  EXPECT_EQ(predict->inputs[0].field, "x");
  ASSERT_EQ(predict->results.size(), 2u);
  EXPECT_EQ(predict->results[0].name, "r");
  EXPECT_EQ(predict->graph.type(predict->results[0].value).shape, (Shape{8, 3}));
  EXPECT_EQ(predict->graph.loss, kNoValue);
  EXPECT_EQ(OnlyEntries(program, {kPredictEntry}).entries.size(), 1u);
  EXPECT_EQ(Make(1).Find(kPredictEntry), nullptr);
}

TEST(EntryPoint, ValuesThatAreNotThereAreRefused) {
  ProgramOptions options;
  options.predictions = {"zz"};
  const absl::Status status = MakeProgram(MakeModelOf(kModel), Strategy{}, Ops(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("no value 'zz' to predict"), std::string::npos) << status;
}

}  // namespace
}  // namespace partita
