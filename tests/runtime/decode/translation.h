// A set of sequences that models read, and what decoding makes of it.
#ifndef PARTITA_TESTS_RUNTIME_DECODE_TRANSLATION_H_
#define PARTITA_TESTS_RUNTIME_DECODE_TRANSLATION_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "runtime/base/philox.h"
#include "runtime/decode/set_decoder.h"
#include "tests/testing/assert_ok.h"

namespace partita {

inline constexpr int64_t kRows = 8, kSource = 4, kTarget = 5, kWords = 9, kSamples = 13;

// Sequences of words and how long they are.
class Sources : public BatchSource {
 public:
  explicit Sources(int64_t rows = kRows) : rows_(rows) {}
  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return kSamples; }
  int64_t batch_rows() const override { return rows_; }
  int64_t batches_per_epoch() const override { return (kSamples + rows_ - 1) / rows_; }

  std::vector<int32_t> Words(int64_t sample) const {
    std::vector<int32_t> words;
    for (int64_t place = 0; place <= sample % kSource; ++place) {
      const float share = Uniform(PhiloxKey(5, "source"), 0, static_cast<uint64_t>(sample * kSource + place));
      words.push_back(4 + static_cast<int32_t>(share * (kWords - 4)));
    }
    return words;
  }

 protected:
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      std::vector<int32_t> words = Words(std::min(batch * rows_ + row, kSamples - 1));
      const auto length = static_cast<int32_t>(words.size());
      words.resize(kSource);
      std::memcpy(out[0].data() + (row - rows.begin) * kSource * 4, words.data(), kSource * 4);
      std::memcpy(out[1].data() + (row - rows.begin) * 4, &length, 4);
    }
    return absl::OkStatus();
  }

 private:
  const int64_t rows_;
  const std::vector<Field> fields_ = {{"source", DType::kI32, {kSource}}, {"source_lengths", DType::kI32, {}}};
};

// `logits`: the value of the graph that is trained by which it chooses words.
inline std::unique_ptr<Session> StartDecoding(const Model& model, const Strategy& strategy,
                                              const std::string& logits = "logits") {
  SessionOptions options;
  options.threads_per_rank = 1;
  options.seed = 11;
  ProgramOptions program{.floating = DType::kF64, .predictions = {logits}, .verify_passes = true};
  auto made = MakeProgram(model, strategy, Ops(), program);
  EXPECT_TRUE(made.ok()) << made.status();
  auto session = Session::Start(*std::move(made), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

inline SetDecoderOptions Decoding(int64_t beam) {
  SetDecoderOptions options;
  options.beam = {beam, kTarget};
  return options;
}

inline std::vector<Hypothesis> Decode(Session& session, int64_t beam) {
  auto decoded = DecodeSet(session, Sources(), Decoding(beam), nullptr);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return **std::move(decoded);
}

// What the graph that is trained says of a sequence, all of it given.
inline double LogProbability(Session& session, const Sources& sources, int64_t sample, const Hypothesis& hypothesis) {
  std::vector<int32_t> words = sources.Words(sample), ids = {2}, targets = hypothesis.words;
  std::vector<int32_t> lengths(kRows, static_cast<int32_t>(words.size()));
  std::vector<int32_t> source(kRows * kSource), given(kRows * kTarget);
  if (hypothesis.ended) targets.push_back(3);
  ids.insert(ids.end(), hypothesis.words.begin(), hypothesis.words.end());
  std::ranges::copy(words, source.begin());
  std::copy_n(ids.begin(), std::min(ids.size(), static_cast<size_t>(kTarget)), given.begin());
  EXPECT_OK(session.StageInput(kPredictEntry, "source", {DType::kI32, {kRows, kSource}, source.data()}));
  EXPECT_OK(session.StageInput(kPredictEntry, "source_lengths", {DType::kI32, {kRows}, lengths.data()}));
  EXPECT_OK(session.StageInput(kPredictEntry, "ids", {DType::kI32, {kRows, kTarget}, given.data()}));
  const HostTensor logits = session.Predict().value()[0];
  double sum = 0;
  for (size_t place = 0; place < targets.size(); ++place) {
    std::vector<double> row(kWords);
    std::memcpy(row.data(), logits.bytes.data() + place * kWords * sizeof(double), kWords * sizeof(double));
    double all = 0;
    for (const double each : row) all += std::exp(each);
    sum += row[static_cast<size_t>(targets[place])] - std::log(all);
  }
  return sum;
}

// Each of these sequences has in training the probability that it was found with.
inline void ExpectTrainedProbabilities(Session& session, int64_t beam) {
  const std::vector<Hypothesis> found = Decode(session, beam);
  ASSERT_EQ(found.size(), static_cast<size_t>(kSamples));
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    const Hypothesis& hypothesis = found[static_cast<size_t>(sample)];
    EXPECT_NEAR(hypothesis.log_probability, LogProbability(session, Sources(), sample, hypothesis), 1e-5)
        << beam << " " << sample;
  }
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DECODE_TRANSLATION_H_
