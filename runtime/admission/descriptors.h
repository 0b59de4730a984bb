// The number of descriptors (files, sockets, pipes) that this process can still open: `ulimit -n`.
#ifndef PARTITA_RUNTIME_ADMISSION_DESCRIPTORS_H_
#define PARTITA_RUNTIME_ADMISSION_DESCRIPTORS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace partita {

// kResourceExhausted: `what` needs more descriptors than are left. Asked before connections are made: a lack that a
// library meets on the way looks like a peer that does not answer.
absl::Status CheckDescriptors(const std::string& what, int64_t needed);

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_DESCRIPTORS_H_
