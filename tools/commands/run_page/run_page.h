// The page of `train --page`: one file that shows a run while it lasts and after it.
#ifndef PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_PAGE_H_
#define PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_PAGE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/report.pb.h"
#include "runtime/api/session.h"
#include "tools/commands/run_page/run_history.h"

namespace partita {

// What the page has besides the lines of the run.
struct RunFacts {
  ReportProto report;                   // before the end: what is known then, without an outcome
  std::optional<int64_t> memory_limit;  // of a rank, in bytes
  std::vector<std::string> next;        // how to use what was saved
  std::string pictures = {};            // HTML, of a recorded step
};

std::string RunToHtml(const RunHistory& history, const RunFacts& facts);

// What is known of a run before its first step, added to the beginning of its report: the memory and the bytes of a
// step that are planned.
void AddPlanned(const Session& session, ReportProto& report);

// HTML: the last step of training on the ranks of this process, and the memory of the fullest of them. Empty: it was
// not recorded (Session::RecordTimeline).
std::string RecordedStepToHtml(const Session& session, std::optional<int64_t> memory_limit);

// Replaces the file as a whole. If it cannot be written the page warns once, and tries again with the next line.
class RunPage {
 public:
  RunPage(std::string path, RunFacts facts) : path_(std::move(path)), facts_(std::move(facts)) {}

  // The curves of the run that this one resumes, from its file of --metrics.
  void AddEarlier(const std::string& metrics, int64_t step) { history_.AddEarlier(metrics, step); }

  // A line of --metrics. Writes the file if it is the first one, or the last writing was some seconds ago.
  void Add(const std::string& line);
  // Writes the file after the last line.
  void Finish(ReportProto report, std::string pictures);

 private:
  void Write();

  const std::string path_;
  RunFacts facts_;
  RunHistory history_;
  std::optional<std::chrono::steady_clock::time_point> written_;
  bool has_warned_ = false;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_PAGE_H_
