#include <fmt/format.h>

#include "runtime/base/status.h"
#include "tests/partitioner/papers/grid_cost.h"
#include "tests/partitioner/papers/tables/tables.h"

namespace partita {
namespace {

constexpr int kRanks = 512;
constexpr int64_t kBatch = 2048;
constexpr AlphaBeta kLink = {2e-6, 1 / 6e9};

absl::StatusOr<std::string> Print(const TableSizes& sizes) {
  const int ranks = sizes.ranks > 0 ? sizes.ranks : kRanks;
  const int64_t batch = sizes.batch > 0 ? sizes.batch : kBatch;
  ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped("alexnet-2012"));
  const auto milliseconds = [&](int rows, GridForm form, bool reduce_scatter) {
    return 1e3 * GridSeconds(layers, rows, ranks / rows, {batch, form, reduce_scatter}, kLink);
  };
  std::string text = fmt::format(
      "communication of a step of AlexNet (2012, no groups), ms; P = {}, B = {}, 2 us a message, 6 GB/s\n"
      "{:>9} {:>9} {:>9} {:>9} {:>9} {:>11} {:>9}\n",
      ranks, batch, "Pr x Pc", "grid", "samples", "domain", "grid RS", "samples RS", "boundary");
  for (const int rows : DivisorsOf(ranks)) {
    text += fmt::format("{:>9} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:11.3f} {:9.3f}\n",
                        fmt::format("{}x{}", rows, ranks / rows), milliseconds(rows, GridForm::kIntegrated, false),
                        milliseconds(rows, GridForm::kSamples, false), milliseconds(rows, GridForm::kDomain, false),
                        milliseconds(rows, GridForm::kIntegrated, true), milliseconds(rows, GridForm::kSamples, true),
                        1e3 * BoundarySeconds(layers, rows, ranks / rows, {batch, GridForm::kSamples}, kLink));
  }
  text += "\nbatch below which the model form moves less than the batch form\n";
  for (const Layer& layer : layers) {
    if (layer.weights > 0) text += fmt::format("  {:<18} {:8.2f}\n", layer.name, BatchOfCrossover(layer));
  }
  return text;
}

}  // namespace

PaperTable GridTable() {
  return {"grid", "Gholami et al.: grids Pr x Pc, convolutions by samples or rows", true, true, Print};
}

}  // namespace partita
