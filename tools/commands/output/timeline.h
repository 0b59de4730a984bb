// The measured timeline of a session's last training step as a trace file.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_TIMELINE_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_TIMELINE_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/api/session.h"

namespace partita {

// The session must have recorded (Session::RecordTimeline, SessionOptions::record_timeline).
absl::Status SaveTimeline(const Session& session, const std::string& path);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_TIMELINE_H_
