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
  AlikeRanks alike(program, entry);
  std::vector<RankShare> models;
  int displaced = 0;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    RankShare share = alike.ShareOf(rank);
    const auto like = [&](const RankShare& model) {
      const bool is = alike.Alike(model, share);
      EXPECT_EQ(alike.Between(model, share).has_value(), is);
      EXPECT_TRUE(!is || alike.HashOf(model) == alike.HashOf(share)) << "ranks " << model.rank << " and " << rank;
      return is;
    };
    if (std::ranges::any_of(models, like)) {
      ++displaced;
    } else {
      models.push_back(std::move(share));
    }
  }
  return displaced;
}

// Without the others: the schedules of the ranks that nobody before them is like.
void ExpectFirstOfEach(const std::vector<Schedule>& all, const absl::StatusOr<FoldedSchedules>& folded) {
  ASSERT_TRUE(folded.ok()) << folded.status();
  ASSERT_EQ(folded->of_rank.size(), all.size());
  size_t first = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto place = static_cast<size_t>(folded->of_rank[rank]);
    ASSERT_LE(place, first);
    EXPECT_EQ(folded->ByRank()[rank], &folded->schedules[place]);
    if (place < first) continue;
    EXPECT_EQ(ToText(folded->schedules[place]), ToText(all[rank]));
    ++first;
  }
  EXPECT_EQ(folded->schedules.size(), first);
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
    const absl::StatusOr<FoldedSchedules> folded = MakeFoldedSchedules(program, entry.graph, kernels, options);
    ExpectFirstOfEach(*together, folded);
    if (!folded.ok()) return displaced;
    EXPECT_EQ(VerifyCollectives(program, folded->ByRank()), absl::OkStatus());
    EXPECT_EQ(VerifySchedules(*together), absl::OkStatus());
    EXPECT_EQ(VerifyCollectives(program, *together), absl::OkStatus());
    displaced += CountDisplaced(program, entry.graph);
  }
  return displaced;
}

}  // namespace partita
