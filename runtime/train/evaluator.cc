#include "runtime/train/evaluator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "graph/ir/generated_name.h"
#include "ops/values/number_op.h"
#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/set_walk.h"

namespace partita {

namespace {

// By what a batch has divided a term; below 1 where it has multiplied it.
double DivisorOf(const SetTerm& term, const std::vector<double>& numbers) {
  double divisor = 1;
  for (const SetFactor& factor : term.factors) {
    divisor = factor.divides ? divisor * numbers[factor.term] : divisor / numbers[factor.term];
  }
  return divisor;
}

// A batch that divides by 0 has nothing to count.
bool DividesByZero(const SetTerm& term, const std::vector<double>& numbers) {
  for (const SetFactor& factor : term.factors) {
    if (numbers[factor.term] == 0) return true;
  }
  return false;
}

// Whether it is, or is made of, a sum over samples that nothing divides.
bool IsTotal(const SetResults& results, int term) {
  const SetTerm& made = results.terms[term];
  if (made.result >= 0) return made.decided && !made.mean && !made.same && made.factors.empty();
  if (made.op == "over" || made.op == "div") return false;
  return std::ranges::any_of(made.inputs, [&](int input) { return IsTotal(results, input); });
}

// Adds up the results of a set's batches to those of the set.
class SetSums {
 public:
  // Both must outlive it. Means that the source's word weights weigh divide by its words, unless there are none
  // (BatchSource::words).
  SetSums(const SetResults& results, const BatchSource& source);

  // A batch of so many samples, of an entry point: what its step reported, in the order of the results.
  void Add(const std::string& entry, int64_t samples, const std::vector<double>& reported);

  // The loss, further losses and metrics of all batches that were added.
  std::vector<double> Results() const;

 private:
  struct Sum {
    double value = 0;
    double weight = 0;
  };

  double Made(const SetTerm& term, const std::vector<double>& numbers) const;

  const SetResults& results_;
  const BatchSource& source_;
  std::vector<Sum> sums_;  // by term
};

SetSums::SetSums(const SetResults& results, const BatchSource& source)
    : results_(results), source_(source), sums_(results.terms.size()) {}

double SetSums::Made(const SetTerm& term, const std::vector<double>& numbers) const {
  std::vector<double> inputs;
  for (const int input : term.inputs) inputs.push_back(numbers[input]);
  return OnNumbers(term.op, term.factor, inputs);
}

void SetSums::Add(const std::string& entry, int64_t samples, const std::vector<double>& reported) {
  const std::vector<double>& places = results_.places.at(entry);
  std::vector<double> numbers;  // of the batch, by term
  for (size_t t = 0; t < results_.terms.size(); ++t) {
    const SetTerm& term = results_.terms[t];
    if (term.result < 0) {
      numbers.push_back(Made(term, numbers));
      continue;
    }
    CHECK(term.result < static_cast<int>(reported.size()));
    const double value = reported[term.result], weight = static_cast<double>(samples) * places[t];
    numbers.push_back(value);
    sums_[t].weight += weight;
    if (!DividesByZero(term, numbers)) sums_[t].value += weight * value * DivisorOf(term, numbers);
  }
}

std::vector<double> SetSums::Results() const {
  std::vector<double> numbers;  // of the set, by term
  for (size_t t = 0; t < results_.terms.size(); ++t) {
    const SetTerm& term = results_.terms[t];
    if (term.result < 0) {
      numbers.push_back(Made(term, numbers));
      continue;
    }
    double weight = sums_[t].weight;
    if (source_.words() > 0 && term.mean && term.zero_with.contains(source_.word_weights())) {
      weight = static_cast<double>(source_.words());
    } else if (term.decided && !term.mean && !term.same) {
      weight = static_cast<double>(source_.batch_rows());  // a batch of fewer samples weighs them up to so many
    }
    numbers.push_back(sums_[t].value / weight / DivisorOf(term, numbers));
  }
  std::vector<double> results;
  for (const int term : results_.of_results) results.push_back(numbers[term]);
  return results;
}

// What a step of evaluation reported: losses first.
std::vector<double> ReportedBy(const StepResult& step) {
  std::vector<double> values = {step.loss};
  for (const auto& [name, value] : step.metrics) values.push_back(value);
  return values;
}

absl::Status CheckLoss(const EntryPoint& entry, const std::vector<double>& results) {
  for (size_t loss = 0; loss <= entry.graph.further_losses.size(); ++loss) {
    if (std::isfinite(results[loss])) continue;
    return OutOfRange("evaluation: node '{}': the loss is {}", entry.results[loss].name, results[loss]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLastBatch(const EntryPoint& entry, const SetResults& results, const BatchSource& source) {
  const int64_t samples = source.samples(), rows = source.batch_rows();
  const bool of_places = source.fills_places();
  if (!of_places && samples % rows == 0) return absl::OkStatus();
  const std::string weights = of_places ? source.word_weights() : kSampleWeightName;
  const std::string size = of_places
                               ? fmt::format("the last batches of {} rows are not full", rows)
                               : fmt::format("{}, no whole number of batches of {}", Counted(samples, "sample"), rows);
  for (const SetTerm& term : results.terms) {
    if (term.result < 0 || term.same || (term.decided && term.zero_with.contains(weights))) continue;
    const std::string& name = entry.results[term.result].name;
    if (!term.decided) {
      return InvalidArgument(
          "test set: {}; node '{}' mixes the samples of a batch, so the rows that fill the last one up would count "
          "(choose a --batch that divides the test set)",
          size, name);
    }
    return InvalidArgument(
        "test set: {}; node '{}' does not weigh {}, so {} that only fill a batch up would count (choose another "
        "--batch{})",
        size, name, of_places ? "places" : "samples", of_places ? "places" : "rows",
        of_places ? fmt::format(", or weigh it by '{}'", weights) : "");
  }
  return absl::OkStatus();
}

std::vector<MoveBytes> PredictedBytes(const Session& session, const EntrySteps& steps) {
  std::vector<MoveBytes> bytes(session.program().groups.size());
  for (const auto& [entry, count] : steps) {
    const std::vector<MoveBytes> of_step = session.PredictedBytes(entry);
    for (size_t g = 0; g < bytes.size(); ++g) bytes[g] += {of_step[g].payload * count, of_step[g].wire * count};
  }
  return bytes;
}

absl::Status CheckTraffic(const Session& session, const EntrySteps& steps) {
  const std::vector<MoveBytes> predicted = PredictedBytes(session, steps);
  ASSIGN_OR_RETURN(const std::vector<GroupTraffic> counted, session.JobTraffic());
  for (size_t g = 0; g < predicted.size(); ++g) {
    if (counted[g].bytes == predicted[g]) continue;
    int64_t all = 0;
    for (const auto& [entry, count] : steps) all += count;
    return Internal("group {}: {} steps moved {} bytes ({} on the wire), predicted are {} ({})",
                    ToString(session.program().groups[g], session.program().meshes), all, counted[g].bytes.payload,
                    counted[g].bytes.wire, predicted[g].payload, predicted[g].wire);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, const SetResults& results,
                                                      std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop, const TakeValues& take_values) {
  const EntryPoint& entry = *session.program().Find(kEvaluateEntry);
  RETURN_IF_ERROR(CheckLastBatch(entry, results, *source));
  const auto start = std::chrono::steady_clock::now();
  session.ResetCounters();
  Evaluation evaluation;
  SetSums sums(results, *source);
  const auto take = [&](const WalkedBatch& batch) -> absl::Status {
    ASSIGN_OR_RETURN(const StepResult step, session.Finish());
    ++evaluation.steps[batch.entry];
    const int64_t samples = source->samples_of(batch.number);
    sums.Add(batch.entry, samples, ReportedBy(step));
    return take_values ? take_values(batch.number * source->batch_rows(), samples, step.values) : absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const bool whole, WalkSet(session, kEvaluateEntry, source, stop, take));
  if (!whole) return std::nullopt;
  const std::vector<double> values = sums.Results();
  RETURN_IF_ERROR(CheckLoss(entry, values));
  evaluation.loss = values[0];
  for (size_t r = 1; r < values.size(); ++r) evaluation.metrics.emplace_back(entry.results[r].name, values[r]);
  // Of a mean over words.
  const bool has_perplexity = !source->word_weights().empty() && !IsTotal(results, results.of_results[0]);
  if (has_perplexity) evaluation.metrics.emplace_back("perplexity", std::exp(evaluation.loss));
  RETURN_IF_ERROR(CheckTraffic(session, evaluation.steps));
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace partita
