#include "tools/commands/output/report.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include "graph/proto_io/proto_io_message.h"
#include "run/host/host.h"
#include "run/host/revision.h"
#include "run/host/version.h"
#include "run/plan/graph_hash.h"
#include "run/plan/inputs.h"
#include "run/spec/config_file.h"
#include "run/spec/flag.h"
#include "runtime/base/file_name.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tools/program/flags.h"
#include "tools/program/start/clean_start.h"
#include "tools/program/start/waiting_threads.h"

namespace partita {
namespace {

// Collectives of a step that a kernel of the group's first rank waits for, itself or what unpacks it.
int64_t BlockingCollectives(const Program& program, const Schedule& schedule, const GroupKey& key) {
  const int communication = schedule.streams - 1;
  std::vector<int> collective(schedule.launches.size(), -1);  // the last one of the stream, up to a launch
  std::set<int> blocking;
  int last = -1;
  for (int l = 0; l < static_cast<int>(schedule.launches.size()); ++l) {
    const Launch& launch = schedule.launches[l];
    if (std::holds_alternative<CollectiveLaunch>(launch.work)) {
      if (launch.stream < communication) blocking.insert(l);  // on the stream of who waits for it
      last = l;
    }
    if (launch.stream == communication) collective[l] = last;
    if (launch.stream >= communication) continue;
    for (const int wait : launch.waits) {
      if (collective[wait] >= 0) blocking.insert(collective[wait]);
    }
  }
  return std::count_if(blocking.begin(), blocking.end(), [&](int l) {
    return program.groups[std::get<CollectiveLaunch>(schedule.launches[l].work).group].key == key;
  });
}

std::string Percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

// A metric's value; of an accuracy in percent.
std::string Shown(double value, bool share) { return share ? Percent(value) : fmt::format("{:.4f}", value); }

bool IsOf(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

using MetricList = google::protobuf::RepeatedPtrField<ReportMetricProto>;

void SetMetrics(const Metrics& metrics, const std::vector<std::string>& accuracies, MetricList& list) {
  list.Clear();
  for (const auto& [name, value] : metrics) {
    ReportMetricProto& metric = *list.Add();
    metric.set_name(name);
    metric.set_value(value);
    metric.set_share(IsOf(accuracies, name));
  }
}

// Of the first accuracy, if the graph has one.
std::optional<double> AccuracyOf(const Metrics& metrics, const std::vector<std::string>& accuracies) {
  return accuracies.empty() ? std::nullopt : MetricOf(metrics, accuracies[0]);
}

double PerStep(int64_t bytes, int64_t steps) {
  return steps == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(steps);
}

void PrintGroup(const ReportGroupProto& group, std::ostream& out) {
  out << fmt::format(
      "  {:<14} payload {:>9.0f} predicted {:>9.0f} counted   wire {:>9.0f} predicted {:>9.0f} counted", group.name(),
      PerStep(group.predicted_payload_bytes(), group.steps()), PerStep(group.counted_payload_bytes(), group.steps()),
      PerStep(group.predicted_wire_bytes(), group.steps()), PerStep(group.counted_wire_bytes(), group.steps()));
  out << fmt::format("   {} blocking, mean wait {:.0f} us\n", group.blocking_collectives(),
                     group.mean_wait_seconds() * 1e6);
}

void PrintCommunication(const ReportCommunicationProto& rank, std::ostream& out) {
  out << fmt::format("  rank {:<9} {:.0f} us, exposed {:.0f} us (hidden {:.0f} %)", rank.rank(),
                     rank.busy_seconds() * 1e6, rank.exposed_seconds() * 1e6, 100 * rank.hidden_share());
  if (rank.gradient_busy_seconds() > 0) {
    out << fmt::format("   gradients {:.0f} us, exposed {:.0f} us (hidden behind the backward pass {:.0f} %)",
                       rank.gradient_busy_seconds() * 1e6, rank.gradient_exposed_seconds() * 1e6,
                       100 * rank.gradient_hidden_share());
  }
  out << "\n";
}

double ErrorOf(const ReportPredictionProto& prediction) {
  return std::abs(prediction.predicted() - prediction.measured()) / prediction.measured();
}

// "op conv2d", "group data": terms of launches, of which there are many.
bool IsKind(const ReportPredictionProto& prediction) { return prediction.term().find(' ') != std::string::npos; }

void PrintPrediction(const ReportPredictionProto& prediction, std::ostream& out) {
  const bool bytes = prediction.term() == "memory";
  const auto shown = [bytes](double value) {
    return bytes ? fmt::format("{:.0f} bytes", value) : fmt::format("{:.0f} us", 1e6 * value);
  };
  out << fmt::format("  {:<14} {:>16}, measured {:>16}   error {:.1f} %\n", prediction.term(),
                     shown(prediction.predicted()), shown(prediction.measured()), 100 * ErrorOf(prediction));
}

void PrintPredictions(const ReportProto& report, std::ostream& out) {
  if (report.predictions_size() > 0) out << fmt::format("predicted of a step on {}\n", report.cluster());
  std::vector<double> errors;
  const ReportPredictionProto* worst = nullptr;
  for (const ReportPredictionProto& prediction : report.predictions()) {
    if (!IsKind(prediction)) {
      PrintPrediction(prediction, out);
      continue;
    }
    errors.push_back(ErrorOf(prediction));
    if (worst == nullptr || ErrorOf(prediction) > ErrorOf(*worst)) worst = &prediction;
  }
  if (worst == nullptr) return;
  out << fmt::format("  {} kinds of launches: error {:.1f} % (median), at most {:.1f} % ({})\n", errors.size(),
                     100 * Median(errors), 100 * ErrorOf(*worst), worst->term());
}

void PrintTarget(const ReportProto& report, std::ostream& out) {
  const ReportTargetProto& target = report.target();
  out << fmt::format("target          test {} of {}: ", target.metric(), target.wanted());
  if (target.has_epochs()) {
    out << fmt::format("met after {:.4f} epochs, {} steps of {} samples\n", target.epochs(), target.steps(),
                       target.batch());
    return;
  }
  out << "not met" << (target.has_best() ? fmt::format(", the best was {:.4f}", target.best()) : "")
      << (report.flags().contains("save-curve") ? "; no point was written\n" : "\n");
}

void SetFlags(const RunSpec& spec, ReportProto& report) {
  for (const auto& [flag, text] : GivenFlags(spec)) {
    google::protobuf::Value& value = (*report.mutable_flags())[flag.name];
    switch (flag.type) {
      case FlagType::kBool:
        value.set_bool_value(text == "true");
        break;
      case FlagType::kInt:
      case FlagType::kBytes:
      case FlagType::kFloat:
        value.set_number_value(std::strtod(text.c_str(), nullptr));
        break;
      default:
        value.set_string_value(text);
    }
  }
}

// A list of ranks or groups is shown whole up to this length. Of a longer one only the entries with the least and the
// most of `measure` are shown; the JSON report has all of them.
constexpr int kShownWhole = 8;

template <typename Entries, typename Measure, typename Print>
void PrintOrExtremes(const Entries& entries, const char* kind, const Measure& measure, const Print& print,
                     std::ostream& out) {
  if (entries.size() <= kShownWhole) {
    for (const auto& entry : entries) print(entry, out);
    return;
  }
  const auto [least, most] = std::minmax_element(entries.begin(), entries.end(),
                                                 [&](const auto& a, const auto& b) { return measure(a) < measure(b); });
  out << fmt::format("  of {} {} the least and the most:\n", entries.size(), kind);
  print(*least, out);
  print(*most, out);
}

void PrintMemory(const ReportMemoryProto& memory, std::ostream& out) {
  out << fmt::format("  rank {:<9} planned {:>10} bytes ({}), used {:>10} bytes\n", memory.rank(),
                     memory.planned_bytes(), FormatBytes(memory.planned_bytes()), memory.used_bytes());
}

void PrintText(const ReportProto& report, std::ostream& out) {
  out << fmt::format("outcome         {}\n", report.outcome());
  if (report.has_test_loss()) out << fmt::format("test loss       {:.4f}\n", report.test_loss());
  for (const ReportMetricProto& metric : report.test_metrics()) {
    out << fmt::format("{:<15} {}\n", "test " + metric.name(), Shown(metric.value(), metric.share()));
  }
  if (report.has_target()) PrintTarget(report, out);
  if (report.has_stopped_early()) out << fmt::format("stopped early   {}\n", report.stopped_early());
  if (report.training_seconds() > 0) {
    out << fmt::format("throughput      {:.0f} samples/s in {:.1f} s of training\n", report.samples_per_second(),
                       report.training_seconds());
    out << fmt::format("data making     {:.2f} s beside the steps ({:.1f} % of training)\n",
                       report.data_making_seconds(), 100 * report.data_making_seconds() / report.training_seconds());
    out << fmt::format("data wait       {:.2f} s ({:.1f} % of training)\n", report.data_wait_seconds(),
                       100 * report.data_wait_seconds() / report.training_seconds());
  }
  if (report.left_out_files() > 0)
    out << fmt::format("left out        {} of the data's files\n", report.left_out_files());
  if (report.groups_size() > 0) out << "bytes a step, by group\n";
  PrintOrExtremes(
      report.groups(), "groups", [](const ReportGroupProto& group) { return group.counted_wire_bytes(); }, PrintGroup,
      out);
  if (report.communication_size() > 0) out << "communication of a step: mean, and median share hidden behind kernels\n";
  PrintOrExtremes(
      report.communication(), "ranks", [](const ReportCommunicationProto& rank) { return rank.exposed_seconds(); },
      PrintCommunication, out);
  PrintPredictions(report, out);
  if (report.decode_memory_bytes() > 0) {
    out << fmt::format("decoding        {} MiB at most, of all decode threads\n", report.decode_memory_bytes() >> 20);
  }
  out << "memory\n";
  PrintOrExtremes(
      report.memory(), "ranks", [](const ReportMemoryProto& memory) { return memory.planned_bytes(); }, PrintMemory,
      out);
}

}  // namespace

ReportProto BeginReport(const std::string& command, const RunSpec& spec, const std::string& model,
                        const std::string& graph_hash, const Session& session) {
  ReportProto report;
  report.set_schema_version(1);
  report.set_tool_version(kToolVersion);
  report.set_revision(kRevision);
  report.set_time(TimeNow());
  const Host host = ThisHost();
  report.set_host(host.name);
  report.set_system(host.system);
  report.set_cores(host.cores);
  for (const FoundVariable& found : VariablesOfLibraries()) {
    ReportVariableProto* const variable = report.add_variables();
    variable->set_name(found.name);
    variable->set_library(found.about->library);
    variable->set_handling(Name(found.about->handling));
    variable->set_text(found.ToString());
  }
  report.set_command(command);
  report.set_model(model);
  report.set_graph(spec.model().graph());
  report.set_graph_hash(graph_hash);
  report.set_strategy(ToString(session.program().meshes));
  SetFlags(spec, report);
  report.set_seed(static_cast<uint64_t>(spec.train().seed()));
  for (int rank = 0; rank < session.ranks(); ++rank) {
    ReportDeviceProto* const device = report.add_devices();
    device->set_rank(rank);
    device->set_kind(session.gpu_name().empty() ? "host" : "cuda");
    device->set_name(session.gpu_name().empty() ? host.processor : session.gpu_name());
    device->set_threads(session.threads_per_rank());
    if (session.gpu_name().empty()) {
      const auto ranks_here = static_cast<int64_t>(session.local_ranks().size());
      device->set_spin_rounds(SpinRounds(ranks_here * session.threads_per_rank()));
    }
  }
  for (const auto& [name, version] : LibraryVersions()) (*report.mutable_libraries())[name] = version;
  return report;
}

void AddTraining(const TrainingResult& result, const std::vector<std::string>& accuracies, ReportProto& report) {
  for (const EpochResult& epoch : result.epochs) {
    ReportEpochProto* const entry = report.add_epochs();
    entry->set_epoch(epoch.epoch);
    entry->set_steps(epoch.steps);
    entry->set_training_loss(epoch.loss);
    const auto accuracy = AccuracyOf(epoch.metrics, accuracies), tested = AccuracyOf(epoch.test_metrics, accuracies);
    if (accuracy) entry->set_training_accuracy(*accuracy);
    SetMetrics(epoch.metrics, accuracies, *entry->mutable_training_metrics());
    if (epoch.test_loss) entry->set_test_loss(*epoch.test_loss);
    if (tested) entry->set_test_accuracy(*tested);
    SetMetrics(epoch.test_metrics, accuracies, *entry->mutable_test_metrics());
    if (epoch.seconds > 0) entry->set_samples_per_second(static_cast<double>(epoch.samples) / epoch.seconds);
    entry->set_learning_rate(epoch.learning_rate);
    if (epoch.test_loss) AddEvaluation(*epoch.test_loss, epoch.test_metrics, accuracies, report);
  }
  report.set_samples_per_second(result.SamplesPerSecond());
  report.set_training_seconds(result.seconds);
  report.set_data_wait_seconds(result.data_wait_seconds);
  report.set_data_making_seconds(result.data_making_seconds);
  report.set_left_out_files(result.left_out_files);
}

void AddEvaluation(double loss, const Metrics& metrics, const std::vector<std::string>& accuracies,
                   ReportProto& report) {
  report.set_test_loss(loss);
  if (const auto accuracy = AccuracyOf(metrics, accuracies)) report.set_test_accuracy(*accuracy);
  SetMetrics(metrics, accuracies, *report.mutable_test_metrics());
}

absl::Status AddTraffic(const Session& session, const std::string& entry, const std::vector<GroupTraffic>& traffic,
                        const EntrySteps& steps, ReportProto& report) {
  const Program& program = session.program();
  FoldedSchedules storage;
  ASSIGN_OR_RETURN(const std::vector<const Schedule*> schedules, session.AllSchedules(entry, storage));
  const std::vector<MoveBytes> predicted = PredictedBytes(session, steps);
  int64_t all = 0;
  for (const auto& [of, count] : steps) all += count;
  for (size_t g = 0; g < traffic.size(); ++g) {
    ReportGroupProto* const group = report.add_groups();
    group->set_name(ToString(program.groups[g], program.meshes));
    group->set_steps(all);
    group->set_predicted_payload_bytes(predicted[g].payload);
    group->set_predicted_wire_bytes(predicted[g].wire);
    group->set_counted_payload_bytes(traffic[g].bytes.payload);
    group->set_counted_wire_bytes(traffic[g].bytes.wire);
    const CommunicationGroup& of = program.groups[g];
    group->set_blocking_collectives(BlockingCollectives(program, *schedules[of.ranks[0]], of.key));
    const int64_t waits = traffic[g].waits;
    group->set_mean_wait_seconds(waits == 0 ? 0 : traffic[g].wait_seconds / static_cast<double>(waits));
  }
  return absl::OkStatus();
}

void AddCommunication(const std::vector<RankCommunication>& ranks, ReportProto& report) {
  for (const RankCommunication& rank : ranks) {
    if (rank.busy == 0) continue;
    ReportCommunicationProto* const entry = report.add_communication();
    entry->set_rank(rank.rank);
    entry->set_steps(rank.steps);
    entry->set_busy_seconds(rank.busy);
    entry->set_exposed_seconds(rank.exposed);
    entry->set_gradient_busy_seconds(rank.gradient_busy);
    entry->set_gradient_exposed_seconds(rank.gradient_exposed);
    entry->set_gradient_behind_backward_seconds(rank.gradient_behind_backward);
    entry->set_hidden_share(rank.hidden_share);
    entry->set_gradient_hidden_share(rank.gradient_hidden_share);
  }
}

absl::Status AddMemory(const Session& session, ReportProto& report) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> used, session.JobUsedMemory());
  for (int rank = 0; rank < session.ranks(); ++rank) {
    ReportMemoryProto* const memory = report.add_memory();
    memory->set_rank(rank);
    memory->set_planned_bytes(session.PlannedMemory(rank).total);
    memory->set_used_bytes(used[rank]);
  }
  return absl::OkStatus();
}

std::string FormatEpoch(const EpochResult& epoch, const std::vector<std::string>& accuracies) {
  std::string line = fmt::format("epoch {:<3} ", epoch.epoch);
  if (epoch.done < epoch.of) line += fmt::format("({} of {} steps) ", epoch.done, epoch.of);
  line += fmt::format("loss {:.4f}", epoch.loss);
  const auto add = [&](const char* before, const Metrics& metrics) {
    for (const auto& [name, value] : metrics) {
      line += fmt::format("   {}{} {}", before, name, Shown(value, IsOf(accuracies, name)));
    }
  };
  add("", epoch.metrics);
  if (epoch.test_loss) line += fmt::format("   test loss {:.4f}", *epoch.test_loss);
  add("test ", epoch.test_metrics);
  return line + fmt::format("   {:.1f} s", epoch.seconds);
}

void PrintReport(const ReportProto& report, const RunSpec& spec, std::ostream& out) {
  if (spec.output().format() == "json") {
    out << PrintMessage(report, ProtoFormat::kJson);
  } else {
    PrintText(report, out);
  }
}

absl::Status SaveReport(const ReportProto& report, const RunSpec& spec) {
  return spec.output().has_report() ? SaveMessage(report, spec.output().report()) : absl::OkStatus();
}

absl::Status WarnOfAnotherGraph(const RunSpec& spec, const Session& session) {
  const std::string& path = spec.general().config();
  if (session.local_ranks().front() != 0 || !HasEnding(path, ".json")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, SystemFlagEnvironment("").read(path));
  ASSIGN_OR_RETURN(const Config report, ParseJsonConfig(text));
  if (report.graph_hash.empty()) return absl::OkStatus();
  RunSpec reported;
  reported.mutable_model()->set_graph(spec.model().graph());
  for (const ConfigEntry& entry : report.entries) {
    if (entry.key == "batch") reported.mutable_model()->set_batch(std::strtoll(entry.value.c_str(), nullptr, 10));
    if (entry.key == "learning-rate")
      reported.mutable_model()->set_learning_rate(std::strtod(entry.value.c_str(), nullptr));
  }
  const absl::StatusOr<Model> model = ReadModel(reported);
  const std::string hash = model.ok() ? GraphHash(*model) : "none with the report's flags";
  if (hash != report.graph_hash) {
    spdlog::warn("{}: the run had another graph: key 'graph_hash' is {}, {} has {}", path, report.graph_hash,
                 spec.model().graph(), hash);
  }
  return absl::OkStatus();
}

}  // namespace partita
