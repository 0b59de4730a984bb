// A cache of kernel plans: (op, shape, library version, device) -> a text, either a library's own format or the host's.
//
// Kept in memory and, if a folder is named, on disk, a file per plan, so the next run need not search. A file that
// cannot be read, is damaged or belongs to another key counts as absent, and the next plan for its key replaces it. A
// file that cannot be written is skipped. Both log a warning. Export and Import send the lowest rank's plans to the
// other ranks before they choose kernels, so that all ranks run the same ones.
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

  // The library rejects the cached plan of the key: removes it and logs a warning.
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
  bool unwritable_ = false;  // warned once
};

}  // namespace partita

#endif  // PARTITA_OPS_PLANS_PLAN_CACHE_H_
