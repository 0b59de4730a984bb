#include "tools/benchmarks/oracle/kind_terms.h"

#include "runtime/base/median.h"

namespace partita {

void PredictedKinds::Add(const SimulatedStep& step, const Program& program) {
  KindSeconds most;
  for (const RankTimeline& timeline : step.timelines) RaiseTo(KindSecondsOf(timeline.spans, program), most);
  for (const auto& [kind, seconds] : most) of_kind_[kind].push_back(seconds);
}

KindSeconds PredictedKinds::Medians() const {
  KindSeconds medians;
  for (const auto& [kind, seconds] : of_kind_) medians[kind] = Median(seconds);
  return medians;
}

void AddKindTerms(const KindSeconds& predicted, const KindSeconds& measured, std::vector<GradedTerm>& terms) {
  for (const auto& [kind, seconds] : predicted) {
    const auto found = measured.find(kind);
    if (found != measured.end() && found->second > 0) terms.push_back({kind, seconds, found->second});
  }
}

}  // namespace partita
