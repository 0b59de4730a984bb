// The result of every search: a plan, its cost, a bound on its gap to the optimum, and its neighbours. Equal tables
// give equal results: of equal plans the first one wins.
#ifndef PARTITA_PARTITIONER_SEARCH_ANSWER_H_
#define PARTITA_PARTITIONER_SEARCH_ANSWER_H_

#include <string>
#include <vector>

namespace partita {

// A plan that was not taken, and why: it is slower, or does not fit.
struct Rejected {
  std::string plan;
  double seconds = 0;
  double bytes = 0;
  std::string reason;
};

// Of the plan that was taken.
struct Judgement {
  double seconds = 0;  // of a step
  double bytes = 0;    // of the fullest device
  // No plan within the limits is faster. The same as `seconds` where the plan is proven to be the best.
  double lower_bound = 0;
  std::vector<Rejected> rejected;  // the fastest first

  // How much slower than the best the plan can be at most: 0.01 is one per cent.
  double Gap() const { return seconds > lower_bound ? (seconds - lower_bound) / lower_bound : 0; }
};

template <typename Plan>
struct Answer : Judgement {
  Plan plan;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ANSWER_H_
