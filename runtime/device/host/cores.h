// The processors that this process may use, and their division among ranks that share them.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_CORES_H_
#define PARTITA_RUNTIME_DEVICE_HOST_CORES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace partita {

struct Processors {
  int online = 1;               // of the machine
  std::vector<int> allowed;     // by affinity mask and cpuset: numbers, ascending; empty: the system does not say
  std::optional<double> quota;  // seconds of processor time per second: the least of the control groups around us

  // How many threads can compute at once, at least 1: the least of the above, with a quota rounded up.
  int usable() const;
};

// Asks the system. The affinity mask is the calling thread's. `root` stands in front of /proc and /sys, where the
// quotas of control groups (versions 1 and 2) are read; a file that is missing or malformed limits nothing.
// Thread-safe.
Processors FindProcessors(const std::string& root = "");

// FindProcessors().usable(): what every default number of threads and every choice between spinning and blocking
// follows from.
int UsableCores();

// FindProcessors().allowed.
std::vector<int> AllowedCores();

// Those of the place-th of `shares` equal parts of `cores`, 0 <= place < shares: at least one, and neighbours share one
// where the parts are not whole.
std::vector<int> ShareOf(std::span<const int> cores, int place, int shares);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_CORES_H_
