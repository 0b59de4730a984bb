// Chooses the fastest of the kernels that can compute a node: timed once, then cached.
//
// The choice for a signature holds for the whole run. It is read from a folder, or timed and written there, so that the
// next run on such a machine is bitwise identical. If two processes time at once, the second uses what the first wrote.
// If the choice cannot be stored, nothing is timed and the rule's kernel is used: no run depends on times that are lost
// with it. Other processes of a job adopt the choices of rank 0 and time nothing.
#ifndef PARTITA_OPS_HOST_TIMING_TIMED_CHOICE_H_
#define PARTITA_OPS_HOST_TIMING_TIMED_CHOICE_H_

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "ops/host/timing/form_timer.h"
#include "ops/host/timing/host_timing.h"
#include "ops/plans/plan_cache.h"

namespace partita {

// Thread-safe.
class TimedChoice {
 public:
  // `threads` are those of the streams that will run what is chosen.
  TimedChoice(HostTiming timing, int threads);

  struct Choice {
    std::string form;    // its name
    std::string remark;  // "of winograd 1.213 ms, onednn 1.604 ms"; empty: not timed
  };

  // What was chosen before, in this run or in one whose choices were kept.
  std::optional<Choice> Find(const std::string& signature);

  // Chooses among one or more forms. The first one is the rule's; it is chosen unless another is faster by more than a
  // twentieth; closer timings would not be repeatable.
  Choice Choose(const std::string& signature, const LocalNode& node, std::span<const Form> forms);

  // What Find gave is no kernel for the signature: forgets it, and warns of a file.
  void Refuse(const std::string& signature, const std::string& why);

  // KernelLibrary
  std::string Choices() const;
  absl::Status Adopt(const std::string& choices);

 private:
  std::string KeyOf(const std::string& signature) const;
  Choice Time(const std::string& signature, const LocalNode& node, std::span<const Form> forms);

  HostTiming timing_;
  const int threads_;
  PlanCache kept_;
  PlanCache chosen_;  // of this run, by signature, in memory
  std::mutex mutex_;  // one node is timed at a time
  bool adopted_ = false, told_ = false, unkept_ = false;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_TIMED_CHOICE_H_
