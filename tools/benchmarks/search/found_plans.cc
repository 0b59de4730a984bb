#include "tools/benchmarks/search/found_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/choose_strategy.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/processor_time.h"

namespace partita {
namespace {

struct Examples {
  Strategy tensor, sequence, both;
};

absl::StatusOr<Examples> ReadExamples(const std::string& folder) {
  Examples examples;
  ASSIGN_OR_RETURN(examples.tensor, LoadStrategy(folder + "/tensor.pbtxt"));
  ASSIGN_OR_RETURN(examples.sequence, LoadStrategy(folder + "/sequence.pbtxt"));
  ASSIGN_OR_RETURN(examples.both, LoadStrategy(folder + "/2x2.pbtxt"));
  return examples;
}

// As `plan --cluster` predicts steps.
class Comparison {
 public:
  Comparison(const Model& model, const Cluster& cluster, const Backend& backend, const ProgramOptions& program,
             FoundPlansRow& row)
      : model_(model), cluster_(cluster), backend_(backend), program_(program), row_(row) {}

  absl::Status Run(const Examples& examples) {
    RETURN_IF_ERROR(Search());
    const int ranks = row_.ranks;
    ASSIGN_OR_RETURN(const Strategy data, DataModelStrategy(model_.graph, ranks, 1));
    RETURN_IF_ERROR(Add("data", data, {ranks, 1}));
    RETURN_IF_ERROR(Add("tensor", examples.tensor, {ranks}));
    RETURN_IF_ERROR(Add("sequence", examples.sequence, {ranks}));
    RETURN_IF_ERROR(AddBoth(examples.both));
    ASSIGN_OR_RETURN(const Strategy rule, DataModelStrategy(model_.graph, 1, ranks));
    return Add("--mp", rule, {1, ranks});
  }

 private:
  absl::Status Search() {
    const ChooseRequest request{.model = model_,
                                .ranks = row_.ranks,
                                .searches = {std::begin(kSearches), std::end(kSearches)},
                                .basis = {Ops(), cluster_, times_, 4},  // Adam's two values, a weight and its gradient
                                .program = program_,
                                .kernels = backend_.kernels(),
                                .schedule = backend_.schedule_options()};
    double took = 0;
    const auto finalists = Timed(took, [&] { return ChooseStrategy(request); });
    row_.seconds = 1e-3 * took;
    if (absl::IsResourceExhausted(finalists.status())) return absl::OkStatus();
    RETURN_IF_ERROR(finalists.status());
    const Finalist& best = finalists->front();
    row_.search = Name(best.candidate.search);
    row_.plan = best.candidate.plan;
    row_.ms = 1e3 * best.seconds;
    return absl::OkStatus();
  }

  // 0: it does not fit, or the graph does not split so far.
  absl::StatusOr<double> MillisecondsOf(Strategy strategy, const std::vector<int>& sizes) const {
    for (size_t a = 0; a < sizes.size(); ++a) strategy.mesh.axes[a].size = sizes[a];
    const auto plan = PredictPlan(
        {model_, Ops(), cluster_, times_, backend_.kernels(), program_, backend_.schedule_options()}, strategy);
    if (absl::IsInvalidArgument(plan.status())) return 0;
    RETURN_IF_ERROR(plan.status());
    return plan->fits.ok() ? 1e3 * plan->step.seconds() : 0;
  }

  absl::Status Add(const std::string& name, const Strategy& strategy, const std::vector<int>& sizes) {
    ASSIGN_OR_RETURN(const double ms, MillisecondsOf(strategy, sizes));
    row_.by_hand.push_back({name, ms});
    return absl::OkStatus();
  }

  absl::Status AddBoth(const Strategy& strategy) {
    HandWrittenPlan best{"data x tensor", 0};
    for (int model = 2; model < row_.ranks; model *= 2) {
      ASSIGN_OR_RETURN(const double ms, MillisecondsOf(strategy, {row_.ranks / model, model}));
      if (ms == 0 || (best.ms > 0 && best.ms <= ms)) continue;
      best = {fmt::format("data:{} model:{}", row_.ranks / model, model), ms};
    }
    row_.by_hand.push_back(std::move(best));
    return absl::OkStatus();
  }

  const Model& model_;
  const Cluster& cluster_;
  const Backend& backend_;
  const ProgramOptions& program_;
  const KernelTimes times_ = {};
  FoundPlansRow& row_;
};

absl::Status Fill(const FoundPlansOptions& options, const Examples& examples, FoundPlansRow& row) {
  const Cluster& cluster = ShippedClusters().at(row.cluster);
  ASSIGN_OR_RETURN(Model model, options.make(row.batch));
  model.learning_rate.steps = 1;
  SessionOptions session;
  session.speed = SpeedOf(cluster, row.ranks);
  session.device.deterministic = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Backend::OpenToPlan(row.ranks, Spread::kThreads, session));
  ProgramOptions program;
  program.speed = session.speed;
  program.mix_precision = options.mix_precision;
  return Comparison(model, cluster, *backend, program, row).Run(examples);
}

std::string Milliseconds(double ms) { return ms > 0 ? fmt::format("{:.2f}", ms) : "-"; }

}  // namespace

double FoundPlansRow::LeastByHand() const {
  double least = 0;
  for (const HandWrittenPlan& one : by_hand) {
    if (one.ms > 0 && (least == 0 || one.ms < least)) least = one.ms;
  }
  return least;
}

absl::StatusOr<std::vector<FoundPlansRow>> FindPlans(const FoundPlansOptions& options) {
  ASSIGN_OR_RETURN(const Examples examples, ReadExamples(options.examples));
  std::vector<FoundPlansRow> rows;
  for (const std::string& name : options.clusters) {
    const auto devices = static_cast<int>(ShippedClusters().at(name).devices.size());
    for (const int ranks : options.ranks) {
      if (ranks > devices) continue;
      FoundPlansRow row{name, ranks, std::max<int64_t>(options.batch, ranks), {}, {}, 0, 0, {}};
      const absl::Status filled = Fill(options, examples, row);
      if (!filled.ok()) return WithContext(fmt::format("{}, {} ranks", name, ranks), filled);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string ToText(const std::vector<FoundPlansRow>& rows) {
  std::string text =
      fmt::format("{:<13}{:>7}{:>7}{:>10}{:>10}{:>10}{:>10}{:>15}{:>10}{:>9}  {}\n", "cluster", "ranks", "batch",
                  "found ms", "data", "tensor", "sequence", "data x tensor", "--mp", "search s", "found");
  for (const FoundPlansRow& row : rows) {
    text += fmt::format("{:<13}{:>7}{:>7}{:>10}", row.cluster, row.ranks, row.batch, Milliseconds(row.ms));
    constexpr int kWidths[] = {10, 10, 10, 15, 10};
    for (size_t i = 0; i < row.by_hand.size(); ++i) {
      text += fmt::format("{:>{}}", Milliseconds(row.by_hand[i].ms), kWidths[i]);
    }
    text += fmt::format("{:>9.1f}  {}\n", row.seconds, row.plan.empty() ? "nothing fits" : row.search + " " + row.plan);
  }
  return text;
}

std::string ToJson(const std::vector<FoundPlansRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const FoundPlansRow& row : rows) {
    nlohmann::ordered_json one{{"cluster", row.cluster}, {"ranks", row.ranks}, {"batch", row.batch}};
    one["found"] = {{"search", row.search}, {"plan", row.plan}, {"ms", row.ms}, {"search_seconds", row.seconds}};
    for (const HandWrittenPlan& hand : row.by_hand) one["by_hand"].push_back({{"name", hand.name}, {"ms", hand.ms}});
    json.push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace partita
