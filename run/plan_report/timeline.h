// Timelines of a training step as a trace file: a measured one, or a predicted one.
#ifndef PARTITA_RUN_PLAN_REPORT_TIMELINE_H_
#define PARTITA_RUN_PLAN_REPORT_TIMELINE_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "graph/timeline/timeline.h"
#include "runtime/api/session.h"

namespace partita {

absl::Status SaveTimelines(std::span<const RankTimeline> timelines, const std::string& path);

// Of a session's last step, which it must have recorded (Session::RecordTimeline, SessionOptions::record_timeline).
absl::Status SaveTimeline(const Session& session, const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_TIMELINE_H_
