// The interface for timing kernels and finding the fastest, for callers that do not depend on kernels.
#ifndef PARTITA_OPS_HOST_TIMING_HOST_TIMING_H_
#define PARTITA_OPS_HOST_TIMING_HOST_TIMING_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "ops/plans/plan_cache.h"

namespace partita {

struct Form;  // form_timer.h

// Seconds of a run of each form of the node. A function, so that a test can say what the times are.
using FormTimer =
    std::function<absl::StatusOr<std::vector<double>>(const LocalNode& node, std::span<const Form> forms)>;

using TellFunction = std::function<void(const std::string&)>;

struct HostTiming {
  std::string folder = "";   // where choices are kept from run to run; empty: nothing is timed
  bool times = true;         // false: what is kept is taken, nothing is timed
  WarnFunction warn = {};    // of files that are damaged or cannot be written
  TellFunction tell = {};    // once, before the first node is timed
  TellFunction detail = {};  // of each that was timed
  FormTimer timer = {};      // empty: TimerOnThreads
  std::string machine = "";  // what times depend on; empty: HostMachine()
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_HOST_TIMING_H_
