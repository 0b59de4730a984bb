// What is no exported program, or has ops that are not read, and what to do about it.
#ifndef PARTITA_IMPORTER_REFUSALS_H_
#define PARTITA_IMPORTER_REFUSALS_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

// kInvalidArgument: by the ending of its name, the file has weights and no graph.
absl::Status CheckHasGraph(const std::string& path);

// kInvalidArgument, of an op as the program names it.
absl::Status NoTranslation(const std::string& target);

}  // namespace partita

#endif  // PARTITA_IMPORTER_REFUSALS_H_
