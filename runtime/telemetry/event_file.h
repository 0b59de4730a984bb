// A file of scalars that TensorBoard reads, also while it grows.
#ifndef PARTITA_RUNTIME_TELEMETRY_EVENT_FILE_H_
#define PARTITA_RUNTIME_TELEMETRY_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/telemetry/appended_file.h"

namespace partita {

// Values by their tag, as "loss/train".
using Scalars = std::vector<std::pair<std::string, double>>;

// Thread-compatible.
class EventFile {
 public:
  // A new file in `folder`, which is made if need be, for a run that begins behind `first_step` steps. TensorBoard
  // ignores what the folder's other files have of the steps after these. Errors as of AppendedFile.
  static absl::StatusOr<EventFile> Create(const std::string& folder, int64_t first_step);

  // After an error the file has part of an event, behind which nothing is read.
  absl::Status Add(int64_t step, const Scalars& scalars);

 private:
  explicit EventFile(AppendedFile file) : file_(std::move(file)) {}

  AppendedFile file_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_EVENT_FILE_H_
