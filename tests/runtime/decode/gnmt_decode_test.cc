// A small GNMT decodes as it is trained, places that attention reads included, and has sizes for shorter sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/proto_io/proto_io.h"
#include "tests/runtime/decode/translation.h"
#include "tools/models/gnmt_entries.h"

namespace partita {
namespace {

GnmtOptions Small(int64_t layers) {
  GnmtOptions options;
  options.batch = kRows;
  options.source_places = kSource;
  options.target_places = kTarget;
  options.words = kWords;
  options.units = 6;
  options.layers = layers;
  return options;
}

Model MakeSmall(int64_t layers, int64_t buckets = 1) {
  Model model = MakeGnmt(Small(layers), Ops()).value();
  const absl::Status added = AddGnmtEntries(Small(layers), buckets, Ops(), model);
  EXPECT_TRUE(added.ok()) << added;
  return model;
}

TEST(GnmtEntries, DecodeWhatTheTrainedGraphGivesThatProbability) {
  for (const int64_t layers : {2, 4}) {
    const auto session = StartDecoding(MakeSmall(layers), Strategy{}, "classifier/bias");
    for (const int64_t beam : {1, 4}) ExpectTrainedProbabilities(*session, beam);
  }
}

void ExpectSame(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t s = 0; s < expected.size(); ++s) {
    EXPECT_EQ(found[s].words, expected[s].words) << s;
    EXPECT_NEAR(found[s].score, expected[s].score, 1e-6) << s;
  }
}

TEST(GnmtEntries, DecodeAlikeUnderTheShippedStrategies) {
  const Model model = MakeSmall(4, 2);
  const auto alone = StartDecoding(model, Strategy{}, "classifier/bias");
  const std::vector<Hypothesis> expected = Decode(*alone, 3);
  for (const std::string name : {"data", "vocabulary", "pipeline", "pipeline_4", "2x2"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, LoadStrategy("tools/models/examples/gnmt/" + name + ".pbtxt"));
    const auto split = StartDecoding(model, strategy, "classifier/bias");
    ExpectSame(Decode(*split, 3), expected);
  }
}

// Coverage says how much of the source was read: of a step the probabilities of all its places are 1.
TEST(GnmtEntries, TellWhatAttentionReads) {
  const auto session = StartDecoding(MakeSmall(2), Strategy{}, "classifier/bias");
  SetDecoderOptions options = Decoding(3);
  options.beam.coverage_penalty = 0;
  const auto without = DecodeSet(*session, Sources(), options, nullptr);
  options.beam.coverage_penalty = 10;
  const auto with = DecodeSet(*session, Sources(), options, nullptr);
  ASSERT_OK(without.status());
  ASSERT_OK(with.status());
  for (int64_t s = 0; s < kSamples; ++s) {
    const Hypothesis& hypothesis = (**with)[static_cast<size_t>(s)];
    const double places = static_cast<double>(s % kSource + 1),
                 steps = static_cast<double>(hypothesis.words.size() + 1);
    const double plain = hypothesis.log_probability / std::pow((5 + steps) / 6, options.beam.length_penalty);
    // Of one place each step reads all of it; of more no sum of logarithms is above that of equal shares.
    if (places == 1) {
      EXPECT_NEAR(hypothesis.score, plain, 1e-6);
    } else if (hypothesis.ended) {
      EXPECT_LE(hypothesis.score, plain + 10 * places * std::log(std::min(1.0, steps / places)) + 1e-6);
    }
  }
}

TEST(GnmtEntries, HaveSizesForShorterSentences) {
  const Model model = MakeSmall(2, 4);
  ASSERT_EQ(model.entries.size(), 5u);
  EXPECT_EQ(model.entries[1].name, "bucket2");
  EXPECT_EQ(model.entries[1].graph.type(model.entries[1].graph.Find("source")).shape, (Shape{kRows, 2}));
  EXPECT_EQ(model.entries[1].graph.type(model.entries[1].graph.Find("classifier/bias")).shape,
            (Shape{kRows, 2, kWords}));
  Model other = MakeGnmt(Small(2), Ops()).value();
  EXPECT_THAT(std::string(AddGnmtEntries(Small(2), 5, Ops(), other).message()), testing::HasSubstr("1 to 4"));
}

}  // namespace
}  // namespace partita
