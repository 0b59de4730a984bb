// BERT, T5, U-Net and the vision transformers have the sizes that their authors say, and a step of small ones gives the
// loss and the gradients that transformers', torchvision's and PyTorch's give, in f64, on one rank and split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "tests/testing/assert_ok.h"
#include "tests/tools/models/peer_transformers.h"
#include "tools/models/models.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/swin.h"
#include "tools/models/transformers/t5.h"
#include "tools/models/transformers/vit.h"
#include "tools/models/unet.h"

namespace partita {
namespace {

using testing::ElementsAre;
using testing::Pair;

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

TEST(Swin, HasTheSizesOfThePublishedModel) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSwin({}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 28'288'354);
  EXPECT_EQ(model.graph.type(model.graph.Find("stage3/6/query/heads")).shape, (Shape{64, 49, 48, 32}));
}

TEST(T5, HasTheSizesOfThePublishedModel) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeT5({}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 60'506'624);
  EXPECT_EQ(model.graph.type(model.graph.Find("decoder6/query/heads")).shape, (Shape{64, 128, 8, 64}));
}

// By transformers' T5Attention._relative_position_bucket: how many distances next to each other have each row.
TEST(T5, DistancesHaveTheRowsOfTransformers) {
  const auto runs = [](bool two_ways) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const int64_t row : DistanceRows(512, 32, 128, two_ways)) {
      if (found.empty() || found.back().first != row) found.push_back({row, 0});
      ++found.back().second;
    }
    return found;
  };
  EXPECT_THAT(runs(true),
              ElementsAre(Pair(15, 421), Pair(14, 27), Pair(13, 18), Pair(12, 14), Pair(11, 9), Pair(10, 7), Pair(9, 4),
                          Pair(8, 4), Pair(7, 1), Pair(6, 1), Pair(5, 1), Pair(4, 1), Pair(3, 1), Pair(2, 1),
                          Pair(1, 1), Pair(0, 1), Pair(17, 1), Pair(18, 1), Pair(19, 1), Pair(20, 1), Pair(21, 1),
                          Pair(22, 1), Pair(23, 1), Pair(24, 4), Pair(25, 4), Pair(26, 7), Pair(27, 9), Pair(28, 14),
                          Pair(29, 18), Pair(30, 27), Pair(31, 421)));
  EXPECT_THAT(runs(false),
              ElementsAre(Pair(31, 399), Pair(30, 14), Pair(29, 12), Pair(28, 10), Pair(27, 10), Pair(26, 8),
                          Pair(25, 7), Pair(24, 6), Pair(23, 6), Pair(22, 5), Pair(21, 4), Pair(20, 4), Pair(19, 3),
                          Pair(18, 3), Pair(17, 2), Pair(16, 3), Pair(15, 1), Pair(14, 1), Pair(13, 1), Pair(12, 1),
                          Pair(11, 1), Pair(10, 1), Pair(9, 1), Pair(8, 1), Pair(7, 1), Pair(6, 1), Pair(5, 1),
                          Pair(4, 1), Pair(3, 1), Pair(2, 1), Pair(1, 1), Pair(0, 512)));
}

TEST(Unet, HasTheSizesOfTheUsualImplementation) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeUnet({}, Ops()));
  EXPECT_EQ(ParameterCount(model.graph), 31'037'698);
  EXPECT_EQ(model.graph.type(model.graph.Find("up0/both")).shape, (Shape{8, 256, 256, 128}));
}

// Tables of numbers make some of their nodes long.
TEST(Transformers, FilesOfFullSizeAreReadBack) {
  for (const absl::StatusOr<Model>& model : {MakeSwin({}, Ops()), MakeT5({}, Ops()), MakeUnet({}, Ops())}) {
    ASSERT_OK(model.status());
    const std::string text = PrintModel(*model, ProtoFormat::kText);
    ASSERT_OK_AND_ASSIGN(Model read, ParseModel(text, ProtoFormat::kText, model->name, Ops()));
    read.optimizer = model->optimizer;  // was completed
    EXPECT_EQ(PrintModel(read, ProtoFormat::kText), text);
  }
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
  const auto of_swin = [](const SwinOptions& options) {
    return std::string(MakeSwin(options, Ops()).status().message());
  };
  EXPECT_EQ(of_swin({.image_size = 200}),
            "image_size is 200; expected a multiple of 224: patches of 4 pixels, windows of 7 patches, 3 halvings");
  EXPECT_EQ(of_swin({.width = 97}), "stage 1 has 3 heads; expected a divisor of its 97 channels");
  EXPECT_EQ(of_swin({.stages = {{0, 3}}}), "stage 1 has 0 blocks; expected at least 1");
  EXPECT_EQ(of_swin({.window = 0}),
            "4 stages, a window of 0, patches of 4 and 96 channels; expected at least 1 of each");
  const auto of_t5 = [](const T5Options& options) { return std::string(MakeT5(options, Ops()).status().message()); };
  EXPECT_EQ(of_t5({.heads = 7}), "heads is 7; expected a divisor of the width (hidden), which is 512");
  EXPECT_EQ(of_t5({.target_places = 0}), "sequences of 128 and 0 words; expected at least 1");
  const auto of_unet = [](const UnetOptions& options) {
    return std::string(MakeUnet(options, Ops()).status().message());
  };
  EXPECT_EQ(of_unet({.image_size = 40}), "image_size is 40; expected a multiple of 16: its side is halved 4 times");
  EXPECT_EQ(of_unet({.halvings = 0}), "0 halvings and 64 channels; expected 1 to 16 and at least 1");
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

Batch SwinBatch() {
  return {
      {"images", Filled<double>(DType::kF64, {kSwinSamples, kSwinImage, kSwinImage, kSwinChannels},
                                [](int64_t i) { return PeerValue(100, i); })},
      {"labels", Filled<int32_t>(DType::kI32, {kSwinSamples}, [](int64_t n) { return (2 * n + 1) % kSwinClasses; })}};
}

Batch T5Batch() {
  const Shape source = {kT5Samples, kT5Source}, target = {kT5Samples, kT5Target};
  const auto written = [](int64_t factor) {
    return [factor](int64_t i) { return PeerPairWord(i / kT5Target, i % kT5Target, factor); };
  };
  return {{"source", Filled<int32_t>(DType::kI32, source,
                                     [](int64_t i) {
                                       const int64_t n = i / kT5Source, t = i % kT5Source;
                                       return t < PeerSourceLength(n) ? PeerPairWord(n, t, 5) : 0;
                                     })},
          {"source_lengths", Filled<int32_t>(DType::kI32, {kT5Samples}, PeerSourceLength)},
          {"ids", Filled<int32_t>(DType::kI32, target, written(7))},
          {"targets", Filled<int32_t>(DType::kI32, target, written(2))},
          {"weights", Filled<double>(DType::kF64, target, [](int64_t i) {
             return i % kT5Target < PeerTargetLength(i / kT5Target) ? 1 : 0;
           })}};
}

Batch UnetBatch() {
  return {{"images", Filled<double>(DType::kF64, {kUnetSamples, kUnetImage, kUnetImage, kUnetChannels},
                                    [](int64_t i) { return PeerValue(100, i); })},
          {"labels", Filled<int32_t>(DType::kI32, {kUnetSamples, kUnetImage, kUnetImage}, PeerPixel)}};
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
    const bool is_gain = gradient.parameter.ends_with("/gain") || gradient.parameter.ends_with("/gamma");
    const double gain = is_gain ? 1 : 0;
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
  const auto is_parameter = [](const Node& node) { return node.op->role == Role::kParameter; };
  EXPECT_EQ(expected.gradients.size(), std::ranges::count_if(model.graph.nodes(), is_parameter));
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

TEST(Swin, GivesTheGradientsOfTorchvision) {
  const SwinOptions options{.batch = kSwinSamples,
                            .image_size = kSwinImage,
                            .image_channels = kSwinChannels,
                            .patch = kSwinPatch,
                            .window = kSwinWindow,
                            .classes = kSwinClasses,
                            .width = kSwinWidth,
                            .stages = {{2, 2}, {3, 3}},
                            .label_smoothing = kVitSmoothing};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSwin(options, Ops()));
  ExpectSteps(model, SwinBatch(), SwinStep());
}

TEST(T5, GivesTheGradientsOfTransformers) {
  const T5Options options{.batch = kT5Samples,
                          .source_places = kT5Source,
                          .target_places = kT5Target,
                          .words = kT5Words,
                          .width = kT5Width,
                          .heads = kT5Heads,
                          .layers = kT5Layers,
                          .distances = kT5Distances,
                          .longest_distance = kT5Longest,
                          .dropout_rate = 0};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeT5(options, Ops()));
  ExpectSteps(model, T5Batch(), T5Step());
}

TEST(Unet, GivesTheGradientsOfPyTorch) {
  const UnetOptions options{.batch = kUnetSamples,
                            .image_size = kUnetImage,
                            .image_channels = kUnetChannels,
                            .classes = kUnetClasses,
                            .channels = kUnetWidth,
                            .halvings = kUnetHalvings};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeUnet(options, Ops()));
  ExpectSteps(model, UnetBatch(), UnetStep());
}

}  // namespace
}  // namespace partita
