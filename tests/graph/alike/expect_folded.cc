#include "tests/graph/alike/expect_folded.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/alike/alike_ranks.h"
#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/schedule_text.h"

namespace partita {
namespace {

int CountDisplaced(const Program& program, const Graph& entry) {
  const AlikeRanks alike(program, entry);
  std::vector<RankShare> models;
  int displaced = 0;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    RankShare share{rank, Localize(entry, rank)};
    const auto like = [&](const RankShare& model) { return alike.Between(model, share).has_value(); };
    if (std::ranges::any_of(models, like)) {
      ++displaced;
    } else {
      models.push_back(std::move(share));
    }
  }
  return displaced;
}

}  // namespace

int ExpectFolded(const Program& program, const KernelCatalogue& kernels, const ScheduleOptions& options) {
  int displaced = 0;
  for (const EntryPoint& entry : program.entries) {
    SCOPED_TRACE(entry.name);
    const absl::StatusOr<std::vector<Schedule>> together = MakeSchedules(program, entry.graph, kernels, options);
    EXPECT_TRUE(together.ok()) << together.status();
    if (!together.ok()) return displaced;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      const absl::StatusOr<Schedule> alone = MakeSchedule(program, entry.graph, rank, kernels, options);
      EXPECT_TRUE(alone.ok()) << alone.status();
      if (!alone.ok()) return displaced;
      EXPECT_EQ(ToText((*together)[static_cast<size_t>(rank)]), ToText(*alone));
    }
    EXPECT_EQ(VerifySchedules(*together), absl::OkStatus());
    EXPECT_EQ(VerifyCollectives(program, *together), absl::OkStatus());
    displaced += CountDisplaced(program, entry.graph);
  }
  return displaced;
}

}  // namespace partita
