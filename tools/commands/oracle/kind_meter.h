// Measures the kinds of launches in training steps, from their recorded timelines.
#ifndef PARTITA_TOOLS_COMMANDS_ORACLE_KIND_METER_H_
#define PARTITA_TOOLS_COMMANDS_ORACLE_KIND_METER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/explain/kind_seconds.h"
#include "runtime/api/session.h"

namespace partita {

// Thread-compatible.
class KindMeter {
 public:
  // Of a session that records, as a StepMeter lets it. It must outlive the meter.
  explicit KindMeter(Session& session) : session_(&session) {}

  // After a training step. Of very many the first are taken.
  void AddStep();

  // Collective: of each kind the median of the steps, of the rank with the most, in all processes.
  absl::StatusOr<KindSeconds> Job() const;

 private:
  using Steps = std::map<std::string, std::vector<double>>;  // by kind

  Session* session_;
  std::map<int, Steps> of_rank_;  // of this process
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_ORACLE_KIND_METER_H_
