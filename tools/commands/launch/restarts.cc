#include "tools/commands/launch/restarts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace partita {

bool Restarts::Follows(const JobEnd& end, int64_t ranks) {
  sentence_.clear();
  const std::vector<ProcessEnd> culprits = Culprits(end);
  if (culprits.empty() || end.told || most_ == 0) return false;
  for (const ProcessEnd& culprit : culprits) {
    failures_.push_back({fmt::format("rank {} of {}", culprit.rank, ranks), HowItEnded(culprit)});
  }
  const std::string last = fmt::format("{} failed: {}", failures_.back().rank, failures_.back().how);
  if (!MayBeStartedAgain(end)) {
    sentence_ = last + ", which another start does not mend";
    return false;
  }
  if (begun_ == most_) {
    sentence_ = fmt::format("{}; no restart of {} is left after {}", last, most_, FailuresByRank());
    return false;
  }
  sentence_ = fmt::format("{}; all start again ({} of {})", last, ++begun_, most_);
  return true;
}

std::string Restarts::Sentence() const { return sentence_; }

std::string Restarts::FailuresByRank() const {
  std::map<std::string, std::vector<std::string>> by_rank;
  for (const Failure& failure : failures_) by_rank[failure.rank].push_back(failure.how);
  std::vector<std::string> texts;
  for (const auto& [rank, how] : by_rank) texts.push_back(fmt::format("{}: {}", rank, fmt::join(how, ", ")));
  return fmt::format("{} failures ({})", failures_.size(), fmt::join(texts, "; "));
}

}  // namespace partita
