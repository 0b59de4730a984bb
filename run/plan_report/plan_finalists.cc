#include "run/plan_report/plan_finalists.h"

#include <string>

namespace partita {

void AddFinalists(const std::vector<Finalist>& finalists, PlanProto& plan) {
  for (const Finalist& finalist : finalists) {
    PlanFinalistProto& proto = *plan.add_finalists();
    const Candidate& candidate = finalist.candidate;
    proto.set_search(Name(candidate.search));
    proto.set_plan(candidate.plan);
    proto.set_ranks(finalist.setting.ranks);
    proto.set_batch(finalist.setting.batch);
    proto.set_step_seconds(finalist.seconds);
    proto.set_memory_bytes(finalist.memory_bytes);
    if (finalist.seconds > 0) proto.set_value(finalist.value);
    if (!finalist.status.ok()) proto.set_refused(std::string(finalist.status.message()));
    if (!candidate.judgement) continue;
    proto.set_table_seconds(candidate.judgement->seconds);
    proto.set_least_table_seconds(candidate.judgement->lower_bound);
    proto.set_gap(candidate.judgement->Gap());
  }
}

}  // namespace partita
