// `trainer fit`: whether a graph can be trained on devices that one may rent, how, how fast and for how much. Nothing
// is run; the answer is that of `plan --search=auto` in a few lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "graph/ir/entry_point.h"
#include "graph/value/node_name.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "run/plan/chosen_strategy.h"
#include "run/plan/machine.h"
#include "run/plan/predicted_plan.h"
#include "run/plan_report/fitting_strategy.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "run/start.h"
#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// The first `count` devices of a shipped cluster.
struct Devices {
  int count = 0;
  std::string kind;     // as the caller wrote it
  std::string cluster;  // its shipped name
};

absl::StatusOr<Devices> ParseDevices(const std::string& on) {
  const size_t times = on.find('x');
  const std::optional<int> count = times == std::string::npos ? std::nullopt : NumberOf<int>(on.substr(0, times));
  Devices devices{count.value_or(1), count ? on.substr(times + 1) : on, ""};
  const std::string wanted = absl::AsciiStrToLower(devices.kind);
  std::vector<std::string> known;
  int most = 0;
  for (const auto& [name, cluster] : ShippedClusters()) {
    for (const DeviceKind& kind : cluster.kinds) {
      known.push_back(kind.name);
      if (kind.name != wanted) continue;
      const auto there = static_cast<int>(cluster.devices.size());
      if (devices.cluster.empty() && there >= devices.count) devices.cluster = name;
      most = std::max(most, there);
    }
  }
  if (devices.count < 1 || devices.kind.empty()) {
    return FlagError("flag --on is {}; expected a number and a kind of device, as 8xH100", Quoted(on));
  }
  if (most == 0) return FlagError("flag --on is {}: no such device is known{}", Quoted(on), Suggestion(wanted, known));
  if (devices.cluster.empty()) {
    return FlagError(
        "flag --on is {}: a shipped cluster has at most {} {}; for more describe one and use plan --cluster",
        Quoted(on), most, devices.kind);
  }
  return devices;
}

// A sequence of numbers for each sample, as of words: how many there are in a batch; 0: the graph reads none.
int64_t TokensOf(const Graph& graph) {
  int64_t tokens = 0;
  for (const EntryInput& input : InputsOf(graph)) {
    const TensorType& type = graph.type(input.values[0]);
    if (type.dtype == DType::kI32 && type.shape.size() == 2) tokens = std::max(tokens, Elements(type.shape));
  }
  return tokens;
}

// How many times a simulated step a real one may take. Kernels here take the least time that the device's rates allow;
// on hosts measured kernels took e^0.5 to e^1.0 times that in the mean of a plan (docs/measured.md 5.3).
constexpr double kMostOverRates = 2.7;

struct Answer {
  std::string model, devices, plan, next;
  std::vector<std::string> repairs;  // why the plan is not one that a search found
  int64_t batch = 0, tokens = 0;
  int64_t bytes = 0, limit = 0;  // of the fullest device
  double seconds = 0;            // of a step at the rates of the data sheets
  bool on_host = false;
  double price = 0;  // of all devices, for an hour; 0: not said
};

std::string Grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string Gibibytes(int64_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

std::string Bar(double share) {
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth));
  return fmt::format("[{}{}]", std::string(static_cast<size_t>(filled), '#'),
                     std::string(static_cast<size_t>(kWidth - filled), '.'));
}

std::string ToText(const Answer& answer) {
  const double share = static_cast<double>(answer.bytes) / static_cast<double>(answer.limit);
  const double rate = static_cast<double>(answer.batch) / answer.seconds;
  std::string text = fmt::format("model    {}, batch {}\n", answer.model, Grouped(static_cast<double>(answer.batch)));
  text += fmt::format("fits     on {}: {} of {} on the fullest, {:.0f} %\n         {}\n", answer.devices,
                      Gibibytes(answer.bytes), Gibibytes(answer.limit), 100 * share, Bar(share));
  text += fmt::format("split    {}\n", answer.plan);
  for (const std::string& why : answer.repairs) text += fmt::format("         {}\n", why);
  text += fmt::format("step     {:.3f} ms, simulated at peak rates; up to {:.3f} ms with their error, {} times\n",
                      1e3 * answer.seconds, 1e3 * kMostOverRates * answer.seconds, kMostOverRates);
  text += fmt::format("         {}\n", answer.on_host
                                           ? "calibrate and plan --profile predict it from measured kernels"
                                           : "the error is that of hosts: no step was measured on such a device");
  text += fmt::format("rate     {} samples/s", Grouped(rate));
  if (answer.tokens > 0)
    text += fmt::format(", {} tokens/s", Grouped(static_cast<double>(answer.tokens) / answer.seconds));
  if (answer.price > 0)
    text += fmt::format("\ncost     {:.3g} for a million samples", answer.price / 3600 / rate * 1e6);
  return text + fmt::format("\nnext     {}\n", answer.next);
}

nlohmann::json ToJson(const Answer& answer) {
  nlohmann::json json = {{"schema_version", 1},
                         {"model", answer.model},
                         {"devices", answer.devices},
                         {"batch", answer.batch},
                         {"memory_bytes", answer.bytes},
                         {"memory_limit_bytes", answer.limit},
                         {"plan", answer.plan},
                         {"step_seconds", answer.seconds},
                         {"step_seconds_most", kMostOverRates * answer.seconds},
                         {"samples_per_second", static_cast<double>(answer.batch) / answer.seconds},
                         {"next", answer.next}};
  if (!answer.repairs.empty()) json["repairs"] = answer.repairs;
  if (answer.tokens > 0) json["tokens_per_second"] = static_cast<double>(answer.tokens) / answer.seconds;
  if (answer.price > 0) json["price_per_million_samples"] = answer.price / 3600 * answer.seconds / answer.batch * 1e6;
  return json;
}

// What the flags of `fit` mean to `plan`.
RunSpec SpecOfPlan(RunSpec spec, const Devices& devices) {
  spec.mutable_machine()->set_cluster(devices.cluster);
  spec.mutable_split()->set_ranks(devices.count);
  spec.mutable_split()->set_search("auto");
  spec.mutable_split()->set_repair(true);
  const Cluster& cluster = ShippedClusters().at(devices.cluster);
  spec.mutable_execution()->set_device(cluster.kinds[0].backend == BackendKind::kCuda ? "cuda" : "host");
  return spec;
}

std::string NextCommand(const RunSpec& given, const RunSpec& spec, const std::string& repair) {
  std::string flags;
  for (const GivenFlag& flag : GivenFlags(given)) {
    if (flag.flag.name != "on" && flag.flag.name != "price" && flag.flag.name != "format") {
      flags += fmt::format(" --{}={}", flag.flag.name, flag.value);
    }
  }
  const bool cuda = spec.execution().device() == "cuda";
  return fmt::format("trainer plan --search=auto --cluster={} --ranks={}{}{}{} {}", spec.machine().cluster(),
                     spec.split().ranks(), cuda ? " --device=cuda" : "", repair, flags, spec.model().graph());
}

std::string PlanOf(const ChosenStrategy& chosen) {
  if (chosen.finalists.empty()) return "replicas, changed until they fit";
  const Candidate& best = chosen.finalists[0].candidate;
  return fmt::format("{}, the best of {} that searches found", best.plan, Counted(chosen.finalists.size(), "plan"));
}

absl::StatusOr<int> Fit(const ContextOf<RunSpec>& context) {
  if (context.spec.output().format() == "dot") return FlagError("flag --format is dot; fit writes text or json");
  ASSIGN_OR_RETURN(const Devices devices, ParseDevices(context.spec.fit().on()));
  const RunSpec spec = SpecOfPlan(context.spec, devices);
  ASSIGN_OR_RETURN(RunPlan plan, PlanRun(spec, {.runs = false, .trains = false, .processes = false}));
  CHECK(plan.machine.has_value());
  Answer answer;
  answer.plan = PlanOf(plan.chosen);
  ASSIGN_OR_RETURN(PredictedPlan predicted, PredictedPlanOf(spec, plan.model, *plan.machine, plan.chosen.strategy));
  if (!predicted.fits.ok()) {
    ASSIGN_OR_RETURN(const FittingStrategy fitting,
                     FittingStrategyOf(spec, plan.model, *plan.machine, plan.chosen.strategy, predicted, context.out));
    ASSIGN_OR_RETURN(predicted, PredictedPlanOf(spec, plan.model, *plan.machine, fitting.strategy));
    answer.repairs = fitting.reasons;
  }
  answer.model = plan.model.name;
  answer.devices = fmt::format("{} x {}", devices.count, devices.kind);
  ASSIGN_OR_RETURN(answer.batch, BatchRows(plan.model.graph));
  answer.tokens = TokensOf(plan.model.graph);
  answer.bytes = predicted.memory.total;
  answer.limit = plan.machine->cluster.kinds[0].memory_bytes;
  if (spec.execution().has_memory()) answer.limit = std::min(answer.limit, spec.execution().memory());
  answer.seconds = predicted.step.seconds();
  answer.on_host = plan.machine->cluster.kinds[0].backend == BackendKind::kHost;
  answer.price = spec.fit().price() * devices.count;
  answer.next = NextCommand(context.spec, spec, answer.repairs.empty() ? "" : " --repair");
  context.out << (spec.output().format() == "json" ? ToJson(answer).dump(2) + "\n" : ToText(answer));
  return kExitFinished;
}

}  // namespace

Command FitCommand() {
  return {"fit", "whether devices suffice for training, and how fast and dear it is", "GRAPH", Runs<RunSpec>(Fit)};
}

}  // namespace partita
