// Loss and metrics of a test set are those of the whole set as one batch, in every batch and under every split, by
// whatever a graph divides.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "graph/read/model_entries.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/philox.h"
#include "runtime/data/arrays/array_batches.h"
#include "runtime/train/evaluator.h"
#include "tests/runtime/train/set_results_of.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 7, kPlaces = 3, kInputs = 4, kClasses = 5, kIgnored = 2;

double Random(const char* what, int64_t index) {
  return static_cast<double>(Uniform(PhiloxKey(3, what), 0, static_cast<uint64_t>(index))) * 2 - 1;
}

// Samples 2 and 5 count nothing, nor do some places of others.
double Weight(int64_t sample, int64_t place) {
  if (sample == 2 || sample == 5 || place > sample % kPlaces) return 0;
  return 0.5 + static_cast<double>((sample + place) % 3);
}
double RowWeight(int64_t sample) { return sample == 3 ? 0 : 0.25 * static_cast<double>(sample + 1); }
int64_t Label(int64_t sample, int64_t place) { return (sample * 3 + place) % kClasses; }

template <typename T>
ArrayField ArrayOf(const std::string& name, DType dtype, Shape row, const std::vector<T>& values) {
  ArrayField array{{name, dtype, std::move(row)}, kSamples, std::vector<uint8_t>(values.size() * sizeof(T)), {}};
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

std::shared_ptr<const BatchSource> Set(int64_t batch) {
  std::vector<double> x, weights, row_weights, targets;
  std::vector<int32_t> labels;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    row_weights.push_back(RowWeight(sample));
    for (int64_t place = 0; place < kPlaces; ++place) {
      weights.push_back(Weight(sample, place));
      labels.push_back(static_cast<int32_t>(Label(sample, place)));
      for (int64_t i = 0; i < kInputs; ++i) {
        x.push_back(2 * Random("x", (sample * kPlaces + place) * kInputs + i));
        targets.push_back(Random("targets", (sample * kPlaces + place) * kInputs + i));
      }
    }
  }
  const DType f64 = DType::kF64;
  return ArrayBatches::Create(
             {ArrayOf("x", f64, {kPlaces, kInputs}, x), ArrayOf("targets", f64, {kPlaces, kInputs}, targets),
              ArrayOf("labels", DType::kI32, {kPlaces}, labels), ArrayOf("weights", f64, {kPlaces}, weights),
              ArrayOf("row_weights", f64, {}, row_weights)},
             {BatchMode::kEvaluation, batch, 1, {kSampleWeightName, f64, {}}})
      .value();
}

// All ways to divide that a graph may have, as metrics; the loss is a sum of some.
Model MakeModel(int64_t batch) {
  GraphBuilder b(Ops());
  const DType f32 = DType::kF32;
  const ValueId x = b.Input("x", f32, {batch, kPlaces, kInputs});
  const ValueId targets = b.Input("targets", f32, {batch, kPlaces, kInputs});
  const ValueId labels = b.Input("labels", DType::kI32, {batch, kPlaces});
  const ValueId weights = b.Input("weights", f32, {batch, kPlaces});
  const ValueId row_weights = b.Input("row_weights", f32, {batch});
  const ValueId w = b.Parameter("w", {kInputs, kClasses}, "he_normal", 2);
  const ValueId v = b.Parameter("v", {kInputs, kInputs}, "he_normal");
  const ValueId logits = b.Add("logits", "matmul", {x, w});
  const ValueId guess = b.Add("guess", "matmul", {x, v});
  const Attributes summed = {{"reduction", "sum"}};
  std::vector<ValueId> metrics;
  const auto metric = [&](const std::string& name, const std::string& op, const std::vector<ValueId>& inputs,
                          const Attributes& attributes = {}) {
    metrics.push_back(b.Add(name, op, inputs, attributes));
    return metrics.back();
  };
  const std::string entropy = "softmax_cross_entropy";
  // Divided by rows and places.
  const ValueId plain = metric("plain", entropy, {logits, labels});
  const ValueId weighed = metric("weighed", entropy, {logits, labels, weights});
  metric("by_rows", entropy, {logits, labels, row_weights});
  metric("right", "accuracy", {logits, labels});
  metric("right_weighed", "accuracy", {logits, labels, weights});
  const ValueId squared = metric("squared", "mean_squared_error", {guess, targets});
  metric("squared_by_rows", "mean_squared_error", {guess, targets, row_weights});
  // Divided by the sum of the weights: before the loss, and behind it.
  const ValueId sum = b.Add("sum", "sum", {weights});
  const ValueId shares = b.Add("shares", "over", {weights, sum});
  const ValueId by_words = metric("by_words", entropy, {logits, labels, shares}, summed);
  metric("right_by_words", "accuracy", {logits, labels, shares}, summed);
  const ValueId total = b.Add("total", entropy, {logits, labels, weights}, summed);
  metric("by_words_behind", "over", {total, sum});
  metric("entropy_of_all", "add", {total, total});
  metric("count_right", "accuracy", {logits, labels, weights}, summed);
  metric("by_words_quotient", "div", {total, sum});
  metric("by_mean", "over", {weighed, b.Add("mean_weight", "mean", {weights})});
  const ValueId everywhere =
      b.Add("everywhere", "expand", {sum}, {{"axes", IntList{0, 1}}, {"sizes", IntList{batch, kPlaces}}});
  metric("by_words_spread", entropy, {logits, labels, b.Add("spread", "div", {weights, everywhere})}, summed);
  // Divided by the number of labels that are not ignored.
  const Attributes ignoring = {{"ignore_index", kIgnored}};
  metric("ignoring", entropy, {logits, labels}, ignoring);
  metric("ignoring_by_rows", entropy, {logits, labels, row_weights}, ignoring);
  metric("ignoring_weighed", entropy, {logits, labels, weights}, ignoring);
  metric("ignoring_total", entropy, {logits, labels}, {{"ignore_index", kIgnored}, {"reduction", "sum"}});
  metric("ignoring_first", entropy, {logits, labels}, {{"ignore_index", int64_t{0}}});  // the label of padding
  metric("right_ignoring", "accuracy", {logits, labels}, ignoring);
  metric("right_by_words_ignoring", "accuracy", {logits, labels, shares},
         {{"ignore_index", kIgnored}, {"reduction", "sum"}});
  const ValueId row_shares = b.Add("row_shares", "over", {row_weights, b.Add("row_sum", "sum", {row_weights})});
  metric("by_row_shares", entropy, {logits, labels, row_shares}, summed);
  // By hand, of values beside the samples.
  const ValueId error = b.Add("error", "square", {b.Add("difference", "sub", {guess, targets})});
  const ValueId of_places = b.Add("of_places", "mean", {error}, {{"axes", IntList{2}}});
  metric("mean_of_means", "mean", {b.Add("of_samples", "mean", {of_places}, {{"axes", IntList{1}}})});
  metric("by_hand", "over",
         {b.Add("weighed_error", "sum", {b.Add("weighed_places", "mul", {of_places, weights})}), sum});
  metric("root", "sqrt", {squared});
  metric("perplexity_of_words", "exp", {by_words});
  // Rows of samples set behind each other.
  const ValueId flat = b.Add("flat", "reshape", {logits}, {{"shape", IntList{-1, kClasses}}});
  const ValueId flat_labels = b.Add("flat_labels", "reshape", {labels}, {{"shape", IntList{-1}}});
  const ValueId flat_weights = b.Add("flat_weights", "reshape", {shares}, {{"shape", IntList{-1}}});
  metric("flat_plain", entropy, {flat, flat_labels});
  metric("flat_by_words", entropy, {flat, flat_labels, flat_weights}, summed);
  metric("flat_right", "accuracy", {flat, flat_labels});
  metric("flat_ignoring", entropy, {flat, flat_labels}, ignoring);
  // Rows of places, each of all samples.
  const auto turned = [&](const std::string& name, ValueId value, const IntList& permutation, const IntList& shape) {
    const ValueId moved = b.Add(name + "_moved", "transpose", {value}, {{"permutation", permutation}});
    return b.Add(name, "reshape", {moved}, {{"shape", shape}});
  };
  const ValueId turned_logits = turned("turned_logits", logits, {1, 0, 2}, {-1, kClasses});
  const ValueId turned_labels = turned("turned_labels", labels, {1, 0}, {-1});
  metric("turned_plain", entropy, {turned_logits, turned_labels});
  metric("turned_right", "accuracy", {turned_logits, turned_labels});
  metric("turned_ignoring", entropy, {turned_logits, turned_labels}, ignoring);
  metric("turned_squares", "mean", {b.Add("squared_logits", "square", {turned_logits})});
  // Of several terms.
  const ValueId norm = b.Add("norm", "sum", {b.Add("squares", "square", {w})});
  metric("with_norm", "add", {by_words, b.Add("decay", "scale", {norm}, {{"factor", 0.1}})});
  metric("product", "mul", {plain, by_words});
  const ValueId loss = b.Add("loss", "add",
                             {plain, b.Add("half", "scale", {by_words}, {{"factor", 0.5}}),
                              b.Add("some", "scale", {squared}, {{"factor", 3.0}}), norm});
  Model model;
  model.graph = b.Build(loss, metrics).value();
  return model;
}

std::map<std::string, double> Evaluated(int64_t batch, Strategy strategy) {
  const Model model = MakeModel(batch);
  // The shapes of one sample do not tell which dimension the samples are.
  const SetResults results = SetResultsOf(batch > 1 ? model : MakeModel(2));
  const ProgramOptions options{.floating = DType::kF64, .evaluated = results.reported, .verify_passes = true};
  SessionOptions session_options;
  session_options.threads_per_rank = 1;
  const auto session = Session::Start(MakeProgram(model, strategy, Ops(), options).value(), session_options).value();
  const auto evaluation = EvaluateSet(*session, results, Set(batch), nullptr);
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  std::map<std::string, double> values = {{"loss", (**evaluation).loss}};
  values.insert((**evaluation).metrics.begin(), (**evaluation).metrics.end());
  EXPECT_EQ(values.size(), model.graph.metrics.size() + 1);
  return values;
}

TEST(SetResults, AreThoseOfTheWholeSetInAnyBatch) {
  const auto whole = Evaluated(kSamples, {});
  for (int64_t batch = 1; batch <= kSamples + 1; ++batch) {
    for (const auto& [name, value] : Evaluated(batch, {})) {
      EXPECT_NEAR(value, whole.at(name), 1e-12 * std::max(1.0, std::abs(value))) << name << ", batch " << batch;
    }
  }
}

TEST(SetResults, AreTheSameUnderAnySplit) {
  const auto whole = Evaluated(kSamples, {});
  for (const auto& [batch, data, model, parts] : std::vector<std::array<int64_t, 4>>{
           {3, 3, 1, 1}, {4, 2, 2, 1}, {5, 2, 1, 1}, {4, 1, 1, 2}, {6, 3, 1, 2}, {2, 2, 1, 1}}) {
    Strategy strategy =
        DataModelStrategy(MakeModel(batch).graph, static_cast<int>(data), static_cast<int>(model)).value();
    strategy.pipeline.micro_batches = parts;
    for (const auto& [name, value] : Evaluated(batch, strategy)) {
      EXPECT_NEAR(value, whole.at(name), 1e-12 * std::max(1.0, std::abs(value)))
          << name << ", batch " << batch << " on " << data << " x " << model << " in " << parts;
    }
  }
}

// Computed here, from the initial weights of the session.
TEST(SetResults, AreThoseOfTheFormulas) {
  const auto set = Evaluated(2, {});
  const Model model = MakeModel(2);
  SessionOptions options;
  options.threads_per_rank = 1;
  const auto session =
      Session::Start(MakeProgram(model, {}, Ops(), {.floating = DType::kF64}).value(), options).value();
  const HostTensor w = session->ReadState("w").value();
  const auto* const weights_of = reinterpret_cast<const double*>(w.bytes.data());
  double plain = 0, by_words = 0, words = 0, weighed = 0, right = 0, by_rows = 0, row_sum = 0, norm = 0;
  double counted = 0, ignoring = 0, ignoring_weighed = 0, right_ignoring = 0;
  for (int64_t i = 0; i < kInputs * kClasses; ++i) norm += weights_of[i] * weights_of[i];
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    row_sum += RowWeight(sample);
    for (int64_t place = 0; place < kPlaces; ++place) {
      double logits[kClasses] = {}, total = 0;
      int64_t best = 0;
      for (int64_t c = 0; c < kClasses; ++c) {
        for (int64_t i = 0; i < kInputs; ++i) {
          logits[c] += 2 * Random("x", (sample * kPlaces + place) * kInputs + i) * weights_of[i * kClasses + c];
        }
        total += std::exp(logits[c]);
        if (logits[c] > logits[best]) best = c;
      }
      const double entropy = std::log(total) - logits[Label(sample, place)], weight = Weight(sample, place);
      plain += entropy;
      weighed += weight * entropy;
      by_rows += RowWeight(sample) * entropy;
      words += weight;
      right += weight * static_cast<double>(best == Label(sample, place));
      if (Label(sample, place) == kIgnored) continue;
      ++counted;
      ignoring += entropy;
      ignoring_weighed += weight * entropy;
      right_ignoring += static_cast<double>(best == Label(sample, place));
    }
  }
  by_words = weighed / words;
  const double places = kSamples * kPlaces;
  EXPECT_NEAR(set.at("plain"), plain / places, 1e-12);
  EXPECT_NEAR(set.at("turned_plain"), plain / places, 1e-12);
  EXPECT_NEAR(set.at("weighed"), weighed / places, 1e-12);
  EXPECT_NEAR(set.at("by_rows"), by_rows / places, 1e-12);
  EXPECT_NEAR(set.at("by_row_shares"), by_rows / row_sum, 1e-12);
  for (const char* const name :
       {"by_words", "by_words_behind", "by_words_quotient", "by_mean", "by_words_spread", "flat_by_words"}) {
    EXPECT_NEAR(set.at(name), by_words, 1e-12) << name;
  }
  EXPECT_NEAR(set.at("right_by_words"), right / words, 1e-12);
  EXPECT_NEAR(set.at("ignoring"), ignoring / counted, 1e-12);
  EXPECT_NEAR(set.at("flat_ignoring"), ignoring / counted, 1e-12);
  EXPECT_NEAR(set.at("turned_ignoring"), ignoring / counted, 1e-12);
  EXPECT_NEAR(set.at("ignoring_weighed"), ignoring_weighed / counted, 1e-12);
  EXPECT_NEAR(set.at("ignoring_total"), ignoring, 1e-10);
  EXPECT_NEAR(set.at("right_ignoring"), right_ignoring / counted, 1e-12);
  EXPECT_NEAR(set.at("entropy_of_all"), 2 * weighed, 1e-10);
  EXPECT_NEAR(set.at("count_right"), right, 1e-10);
  EXPECT_NEAR(set.at("with_norm"), by_words + 0.1 * norm, 1e-12);
  EXPECT_NEAR(set.at("product"), plain / places * by_words, 1e-12);
  EXPECT_NEAR(set.at("perplexity_of_words"), std::exp(by_words), 1e-10);
}

}  // namespace
}  // namespace partita
