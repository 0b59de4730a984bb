// What was found out about kernels, a plan, by what it is for: (op, shape, library version, device) -> a text, of a
// foreign library's own or of the host's kernels.
//
// Kept in memory and, if a folder is named, on disk, a file per plan, so the next run need not search. A file that
// cannot be read, is damaged or belongs to another key counts as absent and is replaced by the next plan for its key;
// one that cannot be written is not written. Either is told as a warning. The lowest rank's plans go to the others by
// Export and Import before they choose kernels, so that all ranks run the same ones.
#ifndef PARTITA_OPS_PLANS_PLAN_CACHE_H_
#define PARTITA_OPS_PLANS_PLAN_CACHE_H_

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace partita {

// Takes one line.
using WarnFunction = std::function<void(const std::string&)>;

// Thread-safe.
class PlanCache {
 public:
  // `folder` is made when the first plan is written; empty: memory only. `warn` may be null.
  explicit PlanCache(std::string folder = "", WarnFunction warn = nullptr)
      : folder_(std::move(folder)), warn_(std::move(warn)) {}

  std::optional<std::string> Find(const std::string& key);

  // Replaces what there was. `key` has no line break. False: a folder is named, but the next run will not find it.
  bool Add(const std::string& key, const std::string& plan);

  // The library does not take the plan that was found for the key: forgets it, and tells so.
  void Refuse(const std::string& key, const std::string& why);

  // All plans of this run as one text, and back; kInvalidArgument: not such a text, then nothing is taken.
  std::string Export() const;
  absl::Status Import(const std::string& text);

 private:
  std::string Path(const std::string& key) const;
  std::optional<std::string> Read(const std::string& key) const;
  absl::Status Write(const std::string& key, const std::string& plan) const;
  void Warn(const std::string& what) const;

  const std::string folder_;
  const WarnFunction warn_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> plans_;
  bool unwritable_ = false;  // told once
};

}  // namespace partita

#endif  // PARTITA_OPS_PLANS_PLAN_CACHE_H_
