#include "tools/benchmarks/oracle/oracle_command.h"

#include <iostream>
#include <iterator>

#include "runtime/base/status.h"
#include "tools/benchmarks/models/measured_models.h"
#include "tools/benchmarks/models/model_sizes.h"
#include "tools/benchmarks/oracle/oracle_rows.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/models/models.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kFewestRounds = 6;  // MedianInterval
constexpr const char* kSmallModels[] = {"mlp", "lenet5", "mini-inception"};

// The small ones, unless one is asked for.
absl::StatusOr<std::vector<MeasuredModel>> ModelsToAsk(const BenchmarkSpec& spec) {
  std::vector<std::string> names(std::begin(kSmallModels), std::end(kSmallModels));
  if (spec.has_model()) names = {spec.model()};
  std::vector<MeasuredModel> models;
  for (const std::string& name : names) {
    models.push_back(MeasuredModelOf(name));
    RETURN_IF_ERROR(SetSizes(spec, models.back()));
  }
  return models;
}

OracleOptions OptionsOf(const BenchmarkSpec& spec) {
  OracleOptions options;
  if (spec.has_ranks()) options.most_ranks = static_cast<int>(spec.ranks());
  if (spec.has_steps()) options.steps = spec.steps();
  if (spec.has_rounds()) options.rounds = spec.rounds();
  options.progress = [](const std::string& what) { std::cerr << what << std::endl; };
  return options;
}

// What is known of a model is told and kept at once, as minutes lie between: who stops the rest has that.
class Oracle {
 public:
  Oracle(const ContextOf<BenchmarkSpec>& context, const OracleOptions& options)
      : context_(context), options_(options), json_(context.spec.format() == "json") {}

  absl::Status AskSteps(const MeasuredModel& model) {
    ASSIGN_OR_RETURN(const std::vector<StepErrorRow> rows, MeasureStepErrors(model, options_));
    if (!json_) context_.out << ToText(rows) << std::flush;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return KeepRuns(RunsOf(rows, {}), context_.spec.history());
  }

  absl::Status AskOrders(const MeasuredModel& model) {
    for (int ranks = 2; ranks <= options_.most_ranks; ranks *= 2) {
      ASSIGN_OR_RETURN(const PlanOrder order, MeasurePlanOrder(model, ranks, options_));
      if (!json_) context_.out << ToText(order) << std::flush;
      orders_.push_back(order);
      RETURN_IF_ERROR(KeepRuns(RunsOf({}, {order}), context_.spec.history()));
    }
    return absl::OkStatus();
  }

  int Tell() const {
    context_.out << (json_ ? ToJson(rows_, orders_) : Summary(rows_, orders_));
    return Holds(rows_, orders_) ? kExitFinished : kExitVerification;
  }

 private:
  const ContextOf<BenchmarkSpec>& context_;
  const OracleOptions& options_;
  const bool json_;
  std::vector<StepErrorRow> rows_;
  std::vector<PlanOrder> orders_;
};

}  // namespace

std::vector<std::string> OracleModelNames() {
  std::vector<std::string> names = ModelNames();
  names.insert(names.end(), {"big-lstm", "gnmt"});
  return names;
}

absl::StatusOr<int> RunOracle(const ContextOf<BenchmarkSpec>& context) {
  const OracleOptions options = OptionsOf(context.spec);
  if (options.rounds < kFewestRounds) {
    return FlagError("flag --rounds is {}; {} or more are needed: of fewer there is no interval of 95 %",
                     options.rounds, kFewestRounds);
  }
  ASSIGN_OR_RETURN(const std::vector<MeasuredModel> models, ModelsToAsk(context.spec));
  const std::string& claim = context.spec.claim();
  Oracle oracle(context, options);
  for (const MeasuredModel& model : models) {
    if (claim != "orders") RETURN_IF_ERROR(oracle.AskSteps(model));
    if (claim != "steps") RETURN_IF_ERROR(oracle.AskOrders(model));
  }
  return oracle.Tell();
}

}  // namespace partita
