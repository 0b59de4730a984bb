// BERT and the vision transformer have the sizes that their authors say, and a step of small ones gives the loss and
// the gradients that transformers' and torchvision's give, in f64, on one rank and split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "tests/testing/assert_ok.h"
#include "tests/tools/models/peer_transformers.h"
#include "tools/models/models.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/vit.h"

namespace partita {
namespace {

TEST(Bert, HasTheSizesOfThePublishedModel) {
  ASSERT_OK_AND_ASSIGN(const Model words, MakeBert({}, Ops()));
  EXPECT_EQ(ParameterCount(words.graph), 109'514'298);
  EXPECT_EQ(words.graph.type(words.graph.Find("block12/query/heads")).shape, (Shape{32, 128, 12, 64}));
  ASSERT_OK_AND_ASSIGN(const Model classifier, MakeBert({.head = BertHead::kClassifier, .classes = 3}, Ops()));
  EXPECT_EQ(ParameterCount(classifier.graph) - 3 * 769, 109'482'240);
}

TEST(Vit, HasTheSizesOfThePublishedModel) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeVit({}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 86'567'656);
  EXPECT_EQ(model.graph.type(model.graph.Find("block12/query/heads")).shape, (Shape{64, 197, 12, 64}));
}

TEST(Transformers, RejectSizesThatTheyCannotHave) {
  const auto of_bert = [](const BertOptions& options) {
    return std::string(MakeBert(options, Ops()).status().message());
  };
  EXPECT_EQ(of_bert({.layers = 0}), "layers is 0; expected at least 1");
  EXPECT_EQ(of_bert({.heads = 7}), "heads is 7; expected a divisor of the width (hidden), which is 768");
  EXPECT_EQ(of_bert({.length = 513}), "length is 513; expected at most 512, the rows of the table of positions");
  const auto of_vit = [](const VitOptions& options) { return std::string(MakeVit(options, Ops()).status().message()); };
  EXPECT_EQ(of_vit({.image_size = 100}), "patch is 16; a divisor of the 100 pixels of an image's side is needed");
  EXPECT_EQ(of_vit({.patch = 0}), "patch is 0; a divisor of the 224 pixels of an image's side is needed");
}

template <typename T, typename F>
HostTensor Filled(DType dtype, const Shape& shape, const F& f) {
  HostTensor tensor{dtype, shape, std::vector<char>(Elements(shape) * sizeof(T))};
  for (int64_t i = 0; i < Elements(shape); ++i) {
    const T value = static_cast<T>(f(i));
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

using Batch = std::map<std::string, HostTensor>;

Batch BertBatch(BertHead head) {
  const Shape places = {kBertSamples, kBertPlaces};
  const auto of_places = [&](int64_t (*f)(int64_t n, int64_t t)) {
    return Filled<int32_t>(DType::kI32, places, [f](int64_t i) { return f(i / kBertPlaces, i % kBertPlaces); });
  };
  return {{"ids", of_places(PeerWord)},
          {"segments", of_places(PeerSegment)},
          {"lengths", Filled<int32_t>(DType::kI32, {kBertSamples}, PeerLength)},
          {"labels",
           head == BertHead::kWords ? of_places(PeerLabel) : Filled<int32_t>(DType::kI32, {kBertSamples}, PeerClass)}};
}

Batch VitBatch() {
  return {{"images", Filled<double>(DType::kF64, {kVitSamples, kVitImage, kVitImage, kVitChannels},
                                    [](int64_t i) { return PeerValue(100, i); })},
          {"labels", Filled<int32_t>(DType::kI32, {kVitSamples}, PeerPicture)}};
}

std::vector<double> ValuesOf(const HostTensor& tensor) {
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// The gradient is what a step of plain SGD at a rate of 1 subtracts.
void ExpectStep(Model model, const Batch& batch, const PeerStep& expected, int data, int parts) {
  SCOPED_TRACE(model.name + " on " + std::to_string(data) + " x " + std::to_string(parts));
  model.optimizer = {"sgd", {}};
  model.learning_rate = {};
  model.learning_rate.base = 1;
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, parts));
  ASSERT_OK_AND_ASSIGN(Program program, MakeProgram(model, strategy, Ops(), {.floating = DType::kF64}));
  SessionOptions options;
  options.threads_per_rank = 1;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Start(std::move(program), options));
  std::vector<std::vector<double>> before;
  for (const PeerGradient& gradient : expected.gradients) {
    const auto k = static_cast<int64_t>(before.size());
    const double gain = gradient.parameter.ends_with("/gain") ? 1 : 0;
    const ValueId value = model.graph.Find(gradient.parameter);
    ASSERT_NE(value, kNoValue) << gradient.parameter;
    const HostTensor tensor =
        Filled<double>(DType::kF64, model.graph.type(value).shape, [&](int64_t i) { return gain + PeerValue(k, i); });
    ASSERT_OK(session->WriteState(gradient.parameter, tensor));
    before.push_back(ValuesOf(tensor));
  }
  for (const auto& [name, tensor] : batch) ASSERT_OK(session->StageInput(kTrainEntry, name, tensor));
  ASSERT_OK_AND_ASSIGN(const StepResult step, session->Train());
  EXPECT_NEAR(step.loss, expected.loss, 1e-9);
  for (size_t k = 0; k < before.size(); ++k) {
    const PeerGradient& gradient = expected.gradients[k];
    ASSERT_OK_AND_ASSIGN(const HostTensor state, session->ReadState(gradient.parameter));
    const std::vector<double> after = ValuesOf(state);
    double along = 0, squares = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      const double d = before[k][i] - after[i];
      along += d * PeerPattern(static_cast<int64_t>(i));
      squares += d * d;
    }
    EXPECT_NEAR(along, gradient.along, 1e-9) << gradient.parameter;
    EXPECT_NEAR(std::sqrt(squares), gradient.norm, 1e-9) << gradient.parameter;
  }
}

// Every parameter of the model is in the list.
void ExpectSteps(const Model& model, const Batch& batch, const PeerStep& expected) {
  EXPECT_EQ(expected.gradients.size(), model.graph.states().size());
  for (const auto& [data, parts] : std::vector<std::pair<int, int>>{{1, 1}, {3, 1}, {1, 2}, {1, 3}, {2, 3}}) {
    ExpectStep(model, batch, expected, data, parts);
  }
}

TEST(Bert, GivesTheGradientsOfTransformers) {
  for (const BertHead head : {BertHead::kWords, BertHead::kClassifier}) {
    const BertOptions options{.batch = kBertSamples,
                              .length = kBertPlaces,
                              .positions = kBertPositions,
                              .words = kBertWords,
                              .segments = kBertSegments,
                              .width = kBertWidth,
                              .heads = kBertHeads,
                              .layers = kBertLayers,
                              .head = head,
                              .classes = kBertClasses,
                              .dropout_rate = 0};
    ASSERT_OK_AND_ASSIGN(const Model model, MakeBert(options, Ops()));
    ExpectSteps(model, BertBatch(head), head == BertHead::kWords ? BertOfWords() : BertClassifier());
  }
}

TEST(Vit, GivesTheGradientsOfTorchvision) {
  const VitOptions options{.batch = kVitSamples,
                           .image_size = kVitImage,
                           .image_channels = kVitChannels,
                           .patch = kVitPatch,
                           .classes = kVitClasses,
                           .width = kVitWidth,
                           .heads = kVitHeads,
                           .layers = kVitLayers,
                           .label_smoothing = kVitSmoothing};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeVit(options, Ops()));
  ExpectSteps(model, VitBatch(), VitStep());
}

}  // namespace
}  // namespace partita
