#include "partitioner/search/recompute_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

int64_t Released(const RecomputeTables& tables, const RecomputeRange& range) {
  int64_t bytes = 0;
  for (int s = range.first; s <= range.last; ++s) {
    bytes += tables.stretches[s].inside + (s < range.last ? tables.stretches[s].output : 0);
  }
  return bytes;
}

double SecondsOf(const RecomputeTables& tables, const RecomputeRange& range) {
  double seconds = 0;
  for (int s = range.first; s <= range.last; ++s) seconds += tables.stretches[s].seconds;
  return seconds - tables.stretches[range.last].last_seconds;
}

int64_t MostOf(const RecomputeTables& tables) {
  int64_t most = tables.elsewhere;
  for (const RecomputeStretch& stretch : tables.stretches) most = std::max({most, stretch.before, stretch.most});
  return most;
}

// Bytes in use at most in the turns of a range's stretches, as a block or as they are, where nothing before them is
// released.
int64_t MostOf(const RecomputeTables& tables, const RecomputeRange& range, bool again) {
  int64_t most = 0;
  for (int s = range.first; s <= range.last; ++s) {
    const RecomputeStretch& stretch = tables.stretches[s];
    const int64_t dropped = again && s == range.last ? Released(tables, range) : 0;
    most = std::max({most, stretch.before - dropped, stretch.most});
  }
  return most;
}

// Of the stretches so far.
struct Partial {
  double seconds = 0;
  int64_t released = 0;
  int before = -1;     // its place among the plans of the stretches before the last decision
  int first = 0;       // of the last decision
  bool again = false;  // what it was
};

class Search {
 public:
  Search(const RecomputeTables& tables, int64_t bytes, size_t most_kept)
      : tables_(tables),
        bytes_(bytes),
        most_kept_(most_kept),
        needed_(MostOf(tables) - bytes),
        partial_(tables.stretches.size() + 1) {}

  std::optional<Answer<RecomputePlan>> Run() {
    if (tables_.elsewhere > bytes_) return std::nullopt;
    partial_[0].push_back({});
    const int stretches = static_cast<int>(tables_.stretches.size());
    for (int end = 1; end <= stretches; ++end) {
      for (int first = end; first-- > 0;) Extend(first, end);
      Prune(partial_[end]);
      if (partial_[end].empty()) return std::nullopt;
    }
    return Best();
  }

 private:
  // Every plan of the stretches before `first` by a block of those up to `end`; by the last one alone also as it is.
  void Extend(int first, int end) {
    const RecomputeRange range{first, end - 1};
    const int64_t kept = MostOf(tables_, range, false), most = MostOf(tables_, range, true);
    const double seconds = SecondsOf(tables_, range);
    const int64_t released = Released(tables_, range);
    for (int p = 0; p < static_cast<int>(partial_[first].size()); ++p) {
      const Partial& before = partial_[first][p];
      if (first + 1 == end && kept - before.released <= bytes_) {
        partial_[end].push_back({before.seconds, before.released, p, first, false});
      }
      if (released == 0 || most - before.released > bytes_) continue;
      // More than is needed is of no use.
      const int64_t sum = std::min(before.released + released, std::max<int64_t>(needed_, 0));
      partial_[end].push_back({before.seconds + seconds, sum, p, first, true});
    }
  }

  // The quickest first, each releasing more than those before it.
  void Prune(std::vector<Partial>& plans) {
    std::ranges::stable_sort(plans, [](const Partial& a, const Partial& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds : a.released > b.released;
    });
    int64_t released = -1;
    std::erase_if(plans, [&](const Partial& plan) {
      if (plan.released <= released) return true;
      released = plan.released;
      return false;
    });
    if (plans.size() <= most_kept_) return;
    exact_ = false;
    std::vector<Partial> some;
    for (size_t i = 0; i < most_kept_; ++i) some.push_back(plans[i * (plans.size() - 1) / (most_kept_ - 1)]);
    plans = std::move(some);
  }

  Answer<RecomputePlan> Best() const {
    Answer<RecomputePlan> answer;
    int place = 0;  // the quickest: all of them fit
    for (int end = static_cast<int>(tables_.stretches.size()); end > 0;) {
      const Partial& plan = partial_[end][place];
      if (plan.again) answer.plan.insert(answer.plan.begin(), {plan.first, end - 1});
      place = plan.before;
      end = plan.first;
    }
    answer.seconds = RecomputeSeconds(tables_, answer.plan);
    answer.bytes = static_cast<double>(RecomputeBytes(tables_, answer.plan));
    answer.lower_bound = exact_ ? answer.seconds : Bound();
    return answer;
  }

  // What the fullest stretch lacks must be released, by nothing better than the best stretch.
  double Bound() const {
    double rate = std::numeric_limits<double>::infinity();
    for (const RecomputeStretch& stretch : tables_.stretches) {
      const int64_t bytes = stretch.inside + stretch.output;
      if (bytes > 0) rate = std::min(rate, (stretch.seconds - stretch.last_seconds) / static_cast<double>(bytes));
    }
    return needed_ > 0 ? rate * static_cast<double>(needed_) : 0;
  }

  const RecomputeTables& tables_;
  const int64_t bytes_;
  const size_t most_kept_;
  const int64_t needed_;  // bytes that the fullest stretch has too many
  bool exact_ = true;
  std::vector<std::vector<Partial>> partial_;  // by the number of stretches
};

// The fewest bytes that a plan needs.
int64_t LeastBytes(const RecomputeTables& tables) {
  int64_t low = tables.elsewhere, high = MostOf(tables);  // the least is in [low, high]
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (Search(tables, middle, 64).Run()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

// Those that begin as `so_far` does and go on from stretch `first`.
void AddPlans(int first, int stretches, RecomputePlan& so_far, std::vector<RecomputePlan>& plans) {
  if (first == stretches) {
    plans.push_back(so_far);
    return;
  }
  AddPlans(first + 1, stretches, so_far, plans);
  for (int last = first; last < stretches; ++last) {
    so_far.push_back({first, last});
    AddPlans(last + 1, stretches, so_far, plans);
    so_far.pop_back();
  }
}

}  // namespace

double RecomputeSeconds(const RecomputeTables& tables, const RecomputePlan& plan) {
  double seconds = 0;
  for (const RecomputeRange& range : plan) seconds += SecondsOf(tables, range);
  return seconds;
}

int64_t RecomputeBytes(const RecomputeTables& tables, const RecomputePlan& plan) {
  int64_t bytes = tables.elsewhere, released = 0;
  int next = 0;  // stretch
  const auto keep = [&](int end) {
    for (; next < end; ++next) bytes = std::max(bytes, MostOf(tables, {next, next}, false) - released);
  };
  for (const RecomputeRange& range : plan) {
    keep(range.first);
    bytes = std::max(bytes, MostOf(tables, range, true) - released);
    released += Released(tables, range);
    next = range.last + 1;
  }
  keep(static_cast<int>(tables.stretches.size()));
  return bytes;
}

absl::StatusOr<Answer<RecomputePlan>> RecomputeSearch(const RecomputeTables& tables, int64_t bytes, size_t most_kept) {
  std::optional<Answer<RecomputePlan>> answer = Search(tables, bytes, most_kept).Run();
  if (answer) return *std::move(answer);
  return ResourceExhausted("{} bytes are in use at least, whatever is computed again; {} are allowed",
                           LeastBytes(tables), bytes);
}

std::vector<Answer<RecomputePlan>> RecomputePlans(const RecomputeTables& tables, int most) {
  std::vector<Answer<RecomputePlan>> plans;
  const int64_t least = LeastBytes(tables);
  const int64_t step = std::max<int64_t>(1, (MostOf(tables) - least) / most);
  for (int64_t bytes = MostOf(tables); bytes >= least;) {
    const std::optional<Answer<RecomputePlan>> plan = Search(tables, bytes, 4096).Run();
    if (!plan) break;
    plans.push_back(*plan);
    const auto needed = static_cast<int64_t>(plan->bytes);
    if (needed <= least) break;
    bytes = std::max(least, needed - step);
  }
  return plans;
}

std::vector<RecomputePlan> AllRecomputePlans(int stretches) {
  std::vector<RecomputePlan> plans;
  RecomputePlan none;
  AddPlans(0, stretches, none, plans);
  return plans;
}

}  // namespace partita
