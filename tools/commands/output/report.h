// The report of a run, as proto/report.proto and as a text summary.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_REPORT_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/report.pb.h"
#include "proto/run.pb.h"
#include "runtime/api/communication_meter.h"
#include "runtime/train/metrics.h"
#include "runtime/train/trainer.h"

namespace partita {

// What is known before anything ran: versions, host, flags, model, devices.
ReportProto BeginReport(const std::string& command, const RunSpec& spec, const std::string& model,
                        const std::string& graph_hash, const Session& session);

// Epochs and throughput; `accuracies`: the metrics that are shares of samples.
void AddTraining(const TrainingResult& result, const std::vector<std::string>& accuracies, ReportProto& report);
// What the test set gave.
void AddEvaluation(double loss, const Metrics& metrics, const std::vector<std::string>& accuracies,
                   ReportProto& report);
// `traffic` is of these steps; what blocks is said of one of `entry`.
absl::Status AddTraffic(const Session& session, const std::string& entry, const std::vector<GroupTraffic>& traffic,
                        const EntrySteps& steps, ReportProto& report);
// Empty for ranks without peers.
void AddCommunication(const std::vector<RankCommunication>& ranks, ReportProto& report);
absl::Status AddMemory(const Session& session, ReportProto& report);

// One line; after an epoch.
std::string FormatEpoch(const EpochResult& epoch, const std::vector<std::string>& accuracies);

// As --format says, text or json.
void PrintReport(const ReportProto& report, const RunSpec& spec, std::ostream& out);

// To the file of --report, if it is given.
absl::Status SaveReport(const ReportProto& report, const RunSpec& spec);

// Of a run that repeats a report (--config=report.json). On rank 0 of the session, logs a warning if the graph is
// another one than the report's, both with the report's flags. Does nothing where --config is no report.
absl::Status WarnOfAnotherGraph(const RunSpec& spec, const Session& session);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_REPORT_H_
