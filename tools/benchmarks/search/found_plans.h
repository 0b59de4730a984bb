// What searches find beside what is written by hand: steps of a transformer as predicted on shipped clusters. No step
// is timed.
#ifndef PARTITA_TOOLS_BENCHMARKS_SEARCH_FOUND_PLANS_H_
#define PARTITA_TOOLS_BENCHMARKS_SEARCH_FOUND_PLANS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"

namespace partita {

struct FoundPlansOptions {
  std::vector<std::string> clusters{"dgx1_v100", "dgx_a100", "nodes_100gbe", "hgx_h100",
                                    "hgx_h200",  "dgx_b200", "gb200_nvl72"};
  std::vector<int> ranks{2, 8, 64};  // of a cluster those that it has
  std::function<absl::StatusOr<Model>(int64_t batch)> make;
  int64_t batch = 8;           // but at least one sequence a rank
  bool mix_precision = false;  // bf16 on f32 weights
  std::string examples;        // the folder of tensor, sequence and 2x2 (.pbtxt)
};

// A strategy for any number of ranks; `ms` is 0 where it does not fit the memory, or does not split so far.
struct HandWrittenPlan {
  std::string name;  // "tensor"; "data:4 model:2" of 2x2
  double ms = 0;
};

struct FoundPlansRow {
  std::string cluster;
  int ranks = 0;
  int64_t batch = 0;
  std::string search, plan;  // what all searches together choose; empty: nothing fits
  double ms = 0;
  double seconds = 0;                    // that the searches took, processor time
  std::vector<HandWrittenPlan> by_hand;  // --dp, tensor, sequence, the fastest of both data and tensor, --mp

  // The fastest by hand; 0: none fits.
  double LeastByHand() const;
};

absl::StatusOr<std::vector<FoundPlansRow>> FindPlans(const FoundPlansOptions& options);

// A table, or a JSON array.
std::string ToText(const std::vector<FoundPlansRow>& rows);
std::string ToJson(const std::vector<FoundPlansRow>& rows);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_SEARCH_FOUND_PLANS_H_
