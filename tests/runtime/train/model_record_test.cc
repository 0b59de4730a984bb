// What a model file says beside its tensors: it survives the file, and nonsense is refused by its name.
#include "runtime/train/model_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace partita {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ModelRecord Whole() {
  ModelRecord record;
  record.preprocessing = {
      {28, 30, 2}, 10, {{0.1, -1.0 / 3}, {1e-9, 2}}, 36, {"a", "b c", "100 %", "gr\xc3\xbcn", "\xff\n,\""}};
  record.training = {100,
                     {{"batch", "8"}, {"data", "a, b"}},
                     {{"precision", "f32"}},
                     BestScore{"accuracy", 0.7},
                     Stagnation{{"accuracy", 0.6}, 3},
                     Stagnation{{"loss", 0.5}, 2}};
  record.scales = {{"a", {{}, {0.5, -1.0 / 3}, {0.25, 2}}}, {"b/c", {0.1}}};
  return record;
}

std::string Refusal(const std::string& key, const std::string& text) {
  Metadata metadata = ToMetadata(Whole());
  metadata[key] = text;
  return std::string(ReadRecord("m.safetensors", metadata).status().message());
}

TEST(ModelRecord, SurvivesTheFile) {
  const Metadata metadata = ToMetadata(Whole());
  const ModelRecord read = ReadRecord("m", metadata).value();
  EXPECT_EQ(ToMetadata(read), metadata);
  EXPECT_EQ(read.preprocessing->images, (ImageShape{28, 30, 2}));
  EXPECT_EQ(read.preprocessing->normalization.mean, Whole().preprocessing->normalization.mean);  // to the bit
  EXPECT_EQ(read.preprocessing->normalization.deviation, Whole().preprocessing->normalization.deviation);
  EXPECT_EQ(read.preprocessing->class_names, Whole().preprocessing->class_names);
  EXPECT_EQ(metadata.at("partita.class_names"), "a/b c/100 %25/gr%C3%BCn/%FF%0A,\"");
  EXPECT_EQ(read.scales, Whole().scales);
  EXPECT_EQ(read.training->step, 100);
  EXPECT_EQ(read.training->run.at("data"), "a, b");
  EXPECT_EQ(read.training->best->value, 0.7);
  EXPECT_EQ(read.training->stagnation->best.value, 0.6);
  EXPECT_EQ(read.training->stagnation->epochs, 3);
  EXPECT_EQ(read.training->plateau->best.metric, "loss");
  EXPECT_EQ(read.training->plateau->epochs, 2);
}

TEST(ModelRecord, FilesThatSayNothingHaveNone) {
  const ModelRecord read = ReadRecord("m", {{"format", "pt"}, {"partita.model", "lenet5"}}).value();
  EXPECT_FALSE(read.preprocessing.has_value());
  EXPECT_FALSE(read.training.has_value());
}

TEST(ModelRecord, NonsenseIsRefusedByItsName) {
  const std::string many(1'000'000, '1'), list = [] {
    std::string text = "1";
    for (int i = 0; i < 100'000; ++i) text += ",1";
    return text;
  }();
  for (const char* key :
       {"partita.images", "partita.classes", "partita.mean", "partita.deviation", "partita.resize", "partita.step",
        "partita.best.accuracy", "partita.stagnation.accuracy", "partita.stagnation.epochs", "partita.plateau.loss",
        "partita.plateau.epochs", "partita.mean.a", "partita.deviation.a", "partita.scale.b/c"}) {
    for (const std::string& text : {std::string(), std::string("x"), std::string("1,"), std::string(",1"),
                                    std::string("1 "), std::string("nan"), std::string("1;2"), many, list}) {
      const std::string refusal = Refusal(key, text);
      EXPECT_THAT(refusal, AllOf(HasSubstr("m.safetensors: metadata "), HasSubstr(key))) << text.substr(0, 10);
      EXPECT_LT(refusal.size(), 400u);
    }
  }
  EXPECT_THAT(Refusal("partita.images", "28,28"), HasSubstr("found 2 numbers, allowed are 3: height, width, channels"));
  EXPECT_THAT(Refusal("partita.images", "28,28,0"), HasSubstr("found 0, allowed are 1 to"));
  EXPECT_THAT(Refusal("partita.images", "28,30,3"), HasSubstr("found 2 means and 2 deviations"));
  EXPECT_THAT(Refusal("partita.deviation", "1,0"), HasSubstr("channel 1: found mean"));
  EXPECT_THAT(Refusal("partita.deviation", "1,inf"), HasSubstr("channel 1: found mean"));
  for (const char* text : {"", "a/", "/a", "a//b", "a%", "a%2", "a%2G", "a%+1"}) {
    EXPECT_THAT(Refusal("partita.class_names", text), HasSubstr("allowed are names with slashes between")) << text;
  }
  EXPECT_THAT(Refusal("partita.class_names", "1/2/3/4/5/6/7/8/9/10/11"), HasSubstr("found 11 names, there are 10"));
  EXPECT_THAT(Refusal("partita.deviation.a", "1,0"), HasSubstr("a finite deviation above 0"));
  EXPECT_THAT(Refusal("partita.deviation.a", "1"), HasSubstr("found 2 means and 1 deviations"));
  EXPECT_THAT(Refusal("partita.scale.a", "2"), HasSubstr("partita.scale.a: found a scale and a mean"));
  EXPECT_THAT(Refusal("partita.stagnation.epochs", "-1"), HasSubstr("found -1, allowed are 0 to"));
  EXPECT_THAT(Refusal("partita.step", "-1"), HasSubstr("found -1, allowed are 0 to"));
  EXPECT_THAT(Refusal("partita.step", "99999999999999999999"), HasSubstr("partita.step"));
}

TEST(ModelRecord, APartThatIsMissingIsNamed) {
  for (const char* key : {"partita.images", "partita.classes", "partita.mean", "partita.deviation", "partita.mean.a",
                          "partita.deviation.a", "partita.stagnation.epochs", "partita.plateau.epochs"}) {
    Metadata metadata = ToMetadata(Whole());
    metadata.erase(key);
    EXPECT_THAT(std::string(ReadRecord("m", metadata).status().message()),
                AllOf(HasSubstr(key), HasSubstr("not found")));
  }
}

TEST(CheckSameRun, SaysAllThatDiffers) {
  const TrainingPosition saved = *Whole().training;
  EXPECT_TRUE(CheckSameRun("m", saved, saved.run).ok());
  EXPECT_EQ(
      std::string(CheckSameRun("m", saved, {{"batch", "16"}, {"seed", "1"}}).message()),
      R"(m: its training, which has come to step 100, had "batch" "8", "data" "a, b"; this run has "batch" "16", )"
      R"("data" none)");
  EXPECT_TRUE(CheckSameRun("m", {1, {{"batch", "8"}}, {}}, {{"batch", "8"}, {"data", "a"}}).ok())
      << "what the file does not name is not compared";
  const std::string a(200, 'a');  // what differs may lie behind what is shown
  EXPECT_FALSE(CheckSameRun("m", {1, {{"data", a + "1"}}, {}}, {{"data", a + "2"}}).ok());
}

TEST(CheckSameImages, SaysBothSizes) {
  const Preprocessing saved = *Whole().preprocessing;
  EXPECT_TRUE(CheckSameImages("m", saved, "graph", {28, 30, 2}, 10, false).ok());
  EXPECT_TRUE(CheckSameImages("m", saved, "graph", {1, 1680, 1}, 10, true).ok());
  EXPECT_EQ(std::string(CheckSameImages("m", saved, "graph", {32, 30, 2}, 10, false).message()),
            "graph: the images are 32 x 30 x 2; m was trained on images of 28 x 30 x 2");
  EXPECT_EQ(std::string(CheckSameImages("m", saved, "graph", {28, 30, 2}, 100, false).message()),
            "m: the graph tells 100 classes apart; the model was trained for 10");
}

TEST(BestScore, MoreAccuracyAndLessLossAreBetter) {
  EXPECT_TRUE((BestScore{"accuracy", 0.5}).IsBeatenBy({"accuracy", 0.6}));
  EXPECT_FALSE((BestScore{"accuracy", 0.5}).IsBeatenBy({"accuracy", 0.5}));
  EXPECT_TRUE((BestScore{"loss", 0.5}).IsBeatenBy({"loss", 0.4}));
  EXPECT_FALSE((BestScore{"loss", 0.5}).IsBeatenBy({"loss", 0.6}));
  EXPECT_TRUE((BestScore{"loss", 0.1}).IsBeatenBy({"accuracy", 0.1}));
}

}  // namespace
}  // namespace partita
