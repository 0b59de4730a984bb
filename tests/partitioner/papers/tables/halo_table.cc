#include <fmt/format.h>

#include "graph/moves/halo.h"
#include "graph/value/layout.h"
#include "tests/partitioner/papers/tables/tables.h"

namespace partita {
namespace {

struct HaloCase {
  int64_t n;
  int workers;
  int64_t kernel, stride, padding;
};
constexpr HaloCase kCases[] = {
    {10, 4, 2, 2, 0}, {11, 3, 5, 1, 2}, {11, 3, 5, 1, 0}, {11, 3, 2, 2, 0}, {224, 4, 11, 4, 2}};

std::string Print(HaloCase c, const TableSizes& sizes) {
  if (sizes.ranks > 0) c.workers = sizes.ranks;
  const Windows windows{(c.n + 2 * c.padding - c.kernel) / c.stride + 1, c.kernel, c.stride, c.padding, false, false};
  const std::vector<int64_t> cuts = BalancedCuts(c.n, c.workers), outputs = BalancedCuts(windows.count, c.workers);
  const Halo halo = PlanHalo(c.n, cuts, outputs, windows);
  std::string text = fmt::format("n {:3}, {} workers, k {:2}, s {}, p {}: m {:2} ", c.n, c.workers, c.kernel, c.stride,
                                 c.padding, windows.count);
  for (int w = 0; w < c.workers; ++w) {
    text += fmt::format(" ({},{},{},{})", cuts[w + 1] - cuts[w], outputs[w + 1] - outputs[w], halo.blocks[w].left,
                        halo.blocks[w].right);
  }
  return text + "\n";
}

absl::StatusOr<std::string> PrintAll(const TableSizes& sizes) {
  std::string text = "halos of workers (inputs, outputs, from the left, from the right); negative: not needed\n";
  for (const HaloCase& c : kCases) text += Print(c, sizes);
  return text;
}

}  // namespace

PaperTable HaloTable() { return {"halo", "Hewett and Grady: unbalanced halos", true, false, PrintAll}; }

}  // namespace partita
