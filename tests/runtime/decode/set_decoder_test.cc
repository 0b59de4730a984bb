// A small model that reads a sequence and writes another: what its entry points write has the probability that the
// graph it was trained as gives it, and is the same under every split.
#include "runtime/decode/set_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/read/model_entries.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/runtime/decode/translation.h"

namespace partita {
namespace {

constexpr int64_t kUnits = 4;

// The nodes of the graph that is trained, and of one step of its decoder.
class SmallTranslator {
 public:
  absl::StatusOr<Model> Make() {
    const ValueId table = Weights("table", {kWords, kUnits}), recurrent = Weights("recurrent", {kUnits, 4 * kUnits});
    const ValueId classes = Weights("classes", {kUnits, kWords}), input = Weights("input", {kUnits, 4 * kUnits});
    const ValueId encoded = Encode(table);
    const ValueId h0 = b_.Add("h0", "sum", {encoded}, {{"axes", Shape{1}}}), c0 = b_.Add("c0", "tanh", {h0});
    const ValueId ids = b_.Input("ids", DType::kI32, {kRows, kTarget});
    const ValueId targets = b_.Input("targets", DType::kI32, {kRows, kTarget});
    const ValueId read = b_.Add("read", "embedding", {table, ids});
    const ValueId gates = b_.Add("gates", "matmul", {read, input});
    const ValueId h = b_.Add("h", "lstm", {gates, recurrent, kNoValue, h0, c0});
    const ValueId logits = b_.Add("logits", "matmul", {h, classes});
    Step(table, input, recurrent, classes);
    Model model;
    ASSIGN_OR_RETURN(model.graph, b_.Build(b_.SoftmaxCrossEntropy("loss", logits, targets)));
    model.learning_rate.base = 0.1;
    const ModelEntry encode{kEncodeEntry, {}, {{"h0", "h"}, {"c0", "c"}, {"encoded", "encoded"}}, {}};
    const ModelEntry step{
        kStepEntry,
        {},
        {{"step/written", "log_probabilities"}, {"step/h", "h"}, {"step/c", "c"}, {"step/attention", "attention"}},
        {}};
    RETURN_IF_ERROR(AddEntries({encode, step}, {}, Ops(), model));
    return model;
  }

 private:
  ValueId Weights(const std::string& name, const Shape& shape) { return b_.Parameter(name, shape, "uniform", 1.5); }

  ValueId Encode(ValueId table) {
    const ValueId source = b_.Input("source", DType::kI32, {kRows, kSource});
    const ValueId lengths = b_.Input("source_lengths", DType::kI32, {kRows});
    const ValueId read = b_.Add("source/read", "embedding", {table, source});
    const ValueId gates = b_.Add("source/gates", "matmul", {read, Weights("source/input", {kUnits, 4 * kUnits})});
    return b_.Add("encoded", "lstm",
                  {gates, Weights("source/recurrent", {kUnits, 4 * kUnits}), kNoValue, kNoValue, kNoValue, lengths});
  }

  ValueId State(const std::string& name, const Shape& shape) {
    return b_.Add("step/" + name + "_before", "input", {}, {{"dtype", "f32"}, {"shape", shape}, {"field", name}});
  }

  // Input, forget, candidate, output of each unit lie side by side.
  ValueId Gate(const std::string& name, ValueId gates, int64_t which, const char* activation) {
    const ValueId cut =
        b_.Add("step/" + name + "/cut", "slice", {gates}, {{"begin", Shape{0, 0, which}}, {"size", Shape{-1, -1, 1}}});
    return b_.Add("step/" + name, activation,
                  {b_.Add("step/" + name + "/flat", "reshape", {cut}, {{"shape", Shape{-1, kUnits}}})});
  }

  void Step(ValueId table, ValueId input, ValueId recurrent, ValueId classes) {
    const ValueId ids =
        b_.Add("step/last_word", "input", {}, {{"dtype", "i32"}, {"shape", Shape{kRows}}, {"field", "last_words"}});
    const ValueId before = State("h", {kRows, kUnits}), cells = State("c", {kRows, kUnits});
    const ValueId from_word =
        b_.Add("step/gates/word", "matmul", {b_.Add("step/read", "embedding", {table, ids}), input});
    const ValueId from_state = b_.Add("step/gates/state", "matmul", {before, recurrent});
    const ValueId gates = b_.Add("step/gates/units", "reshape", {b_.Add("step/gates", "add", {from_word, from_state})},
                                 {{"shape", Shape{-1, kUnits, 4}}});
    const ValueId kept = b_.Add("step/kept", "mul", {Gate("forget", gates, 1, "sigmoid"), cells});
    const ValueId fresh =
        b_.Add("step/new", "mul", {Gate("in", gates, 0, "sigmoid"), Gate("candidate", gates, 2, "tanh")});
    const ValueId c = b_.Add("step/c", "add", {kept, fresh});
    const ValueId h = b_.Add("step/h", "mul", {Gate("out", gates, 3, "sigmoid"), b_.Add("step/c/tanh", "tanh", {c})});
    b_.Add("step/written", "log_softmax", {b_.Add("step/logits", "matmul", {h, classes})});
    const ValueId encoded = State("encoded", {kRows, kSource, kUnits});
    const ValueId asked = b_.Add("step/asked", "expand", {h}, {{"axes", Shape{1}}, {"sizes", Shape{kSource}}});
    const ValueId likeness =
        b_.Add("step/likeness", "sum", {b_.Add("step/products", "mul", {asked, encoded})}, {{"axes", Shape{2}}});
    b_.Add("step/attention", "softmax", {likeness});
  }

  GraphBuilder b_{Ops()};
};

TEST(SetDecoder, WritesWhatTheTrainedGraphGivesThatProbability) {
  const auto session = StartDecoding(SmallTranslator().Make().value(), Strategy{});
  for (const int64_t beam : {1, 3, 8}) ExpectTrainedProbabilities(*session, beam);
}

TEST(SetDecoder, FindsNothingWorseWithAWiderBeam) {
  const Model model = SmallTranslator().Make().value();
  const auto session = StartDecoding(model, Strategy{});
  const std::vector<Hypothesis> greedy = Decode(*session, 1), wide = Decode(*session, 8);
  double less = 0, more = 0;
  for (size_t s = 0; s < greedy.size(); ++s) {
    less += greedy[s].score;
    more += wide[s].score;
  }
  EXPECT_GT(more, less);
}

TEST(SetDecoder, WritesTheSameInAnotherBatch) {
  const Model model = SmallTranslator().Make().value();
  const auto session = StartDecoding(model, Strategy{});
  const auto other = StartDecoding(WithBatch(model, 5, Ops()).value(), Strategy{});
  const std::vector<Hypothesis> expected = Decode(*session, 3);
  ASSERT_OK_AND_ASSIGN(const auto found, DecodeSet(*other, Sources(5), Decoding(3), nullptr));
  ASSERT_EQ(found->size(), expected.size());
  for (size_t s = 0; s < expected.size(); ++s) EXPECT_EQ((*found)[s].words, expected[s].words) << s;
}

Strategy Stages(int64_t micro_batches) {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", 2}};
  if (micro_batches > 1) strategy.pipeline = {micro_batches, "stage", PipelineOrder::kOneForwardOneBackward};
  for (const char* const pattern : {"logits", "loss"}) {
    strategy.ops.push_back({pattern, {{"stage", {"at", 1, {}}}}, {}});
  }
  strategy.ops.push_back({"*", {{"stage", {"at", 0, {}}}}, {}});
  return strategy;
}

struct Split {
  std::string name;
  std::function<Strategy(const Graph&)> strategy;
};
void PrintTo(const Split& split, std::ostream* out) { *out << split.name; }

class DecodedSplits : public testing::TestWithParam<Split> {};

TEST_P(DecodedSplits, WriteWhatOneRankWrites) {
  const Model model = SmallTranslator().Make().value();
  const auto serial = StartDecoding(model, Strategy{}), split = StartDecoding(model, GetParam().strategy(model.graph));
  const std::vector<Hypothesis> expected = Decode(*serial, 3), found = Decode(*split, 3);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t s = 0; s < found.size(); ++s) {
    EXPECT_EQ(found[s].words, expected[s].words) << s;
    EXPECT_NEAR(found[s].score, expected[s].score, 1e-6) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Splits, DecodedSplits,
    testing::Values(Split{"Data4", [](const Graph& graph) { return DataModelStrategy(graph, 4, 1).value(); }},
                    Split{"Data3", [](const Graph& graph) { return DataModelStrategy(graph, 3, 1).value(); }},
                    Split{"Data2Model2", [](const Graph& graph) { return DataModelStrategy(graph, 2, 2).value(); }},
                    Split{"Stages2", [](const Graph&) { return Stages(1); }},
                    Split{"Stages2MicroBatches2", [](const Graph&) { return Stages(2); }}),
    [](const auto& one) { return one.param.name; });

TEST(SetDecoder, SaysWhatItLacks) {
  const Model model = SmallTranslator().Make().value();
  const auto session = StartDecoding(model, Strategy{});
  const auto refusal = [&](Session& of, const BatchSource& source, int64_t beam) {
    return std::string(DecodeSet(of, source, Decoding(beam), nullptr).status().message());
  };
  EXPECT_THAT(refusal(*session, Sources(), kRows + 1), testing::HasSubstr("at least the beam's 9"));
  EXPECT_THAT(refusal(*session, Sources(4), 3), testing::HasSubstr("'step' has 8 rows and a batch of the data 4"));
  Model training = model;
  training.entries.clear();
  EXPECT_THAT(refusal(*StartDecoding(training, Strategy{}), Sources(), 3),
              testing::HasSubstr("no entry point 'encode'"));
  Model unnamed = model;
  unnamed.entries[1].results[0].name = "scores";
  EXPECT_THAT(refusal(*StartDecoding(unnamed, Strategy{}), Sources(), 3),
              testing::HasSubstr("no result 'log_probabilities'"));
  Model unfilled = model;
  unfilled.entries[0].results[2].name = "memory";
  EXPECT_THAT(refusal(*StartDecoding(unfilled, Strategy{}), Sources(), 3),
              testing::HasSubstr("input 'encoded' of 'step' is filled by no result"));
  Model other = model;
  other.entries[0].results[2].name = "h";
  other.entries[0].results[0].name = "encoded";
  EXPECT_THAT(refusal(*StartDecoding(other, Strategy{}), Sources(), 3), testing::HasSubstr("that fills it is"));
}

TEST(SetDecoder, TellsHowFarItIs) {
  const auto session = StartDecoding(SmallTranslator().Make().value(), Strategy{});
  SetDecoderOptions options = Decoding(3);
  std::vector<int64_t> done;
  options.on_progress = [&done](int64_t samples) { done.push_back(samples); };
  ASSERT_OK(DecodeSet(*session, Sources(), options, nullptr).status());
  EXPECT_EQ(done, (std::vector<int64_t>{kRows, kSamples}));
}

TEST(SetDecoder, EndsWhenItIsToldTo) {
  const auto session = StartDecoding(SmallTranslator().Make().value(), Strategy{});
  const std::atomic<int> stop{15};
  const auto decoded = DecodeSet(*session, Sources(), Decoding(3), &stop);
  ASSERT_OK(decoded.status());
  EXPECT_FALSE(decoded->has_value());
}

// A signal comes while the only batch is read.
class StoppingSources : public Sources {
 public:
  explicit StoppingSources(std::atomic<int>& stop) : Sources(kSamples), stop_(stop) {}

 private:
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    stop_ = 15;
    return Sources::FillChecked(batch, rows, out);
  }

  std::atomic<int>& stop_;
};

TEST(SetDecoder, EndsWithinABatch) {
  const Model model = WithBatch(SmallTranslator().Make().value(), kSamples, Ops()).value();
  const auto session = StartDecoding(model, Strategy{});
  std::atomic<int> stop{0};
  SetDecoderOptions options = Decoding(3);
  options.on_progress = [](int64_t) { ADD_FAILURE() << "the batch was decoded to its end"; };
  const auto decoded = DecodeSet(*session, StoppingSources(stop), options, &stop);
  ASSERT_OK(decoded.status());
  EXPECT_FALSE(decoded->has_value());
}

}  // namespace
}  // namespace partita
