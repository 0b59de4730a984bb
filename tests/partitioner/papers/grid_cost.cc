#include "tests/partitioner/papers/grid_cost.h"

namespace partita {
namespace {

class Grid {
 public:
  Grid(int rows, int columns, const GridOptions& options, const AlphaBeta& link)
      : rows_(rows), columns_(columns), options_(options), link_(link) {}

  // `first`: nothing wants the gradient of its input.
  double SecondsOf(const Layer& layer, bool first) const {
    if (layer.kind == LayerKind::kPool) return 0;
    if (layer.kind == LayerKind::kConvolution && options_.form == GridForm::kSamples) return Reduce(layer, AllRanks());
    if (layer.kind == LayerKind::kConvolution && options_.form == GridForm::kDomain) {
      return Halos(layer) + Reduce(layer, AllRanks());
    }
    return OnGrid(layer, first);
  }

  double Gather(int64_t elements) const {
    return Move(CollectiveKind::kAllGather, elements * SamplesOfColumn(), rows_);
  }

 private:
  int AllRanks() const { return rows_ * columns_; }
  double SamplesOfColumn() const { return static_cast<double>(options_.batch) / columns_; }

  double Move(CollectiveKind collective, double elements, int ranks) const {
    return CollectiveSeconds(collective, CollectiveForm::kRecursive, elements * options_.element_bytes, ranks, link_);
  }

  double Reduce(const Layer& layer, int ranks) const {
    return Move(CollectiveKind::kAllReduce, static_cast<double>(layer.weights), ranks);
  }

  double OnGrid(const Layer& layer, bool first) const {
    const CollectiveKind backward =
        options_.reduce_scatter ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
    const double inputs = static_cast<double>(layer.input.elements()) * SamplesOfColumn();
    return Gather(layer.output.elements()) + (first ? 0 : Move(backward, inputs, rows_)) +
           Move(CollectiveKind::kAllReduce, static_cast<double>(layer.weights) / rows_, columns_);
  }

  // Of X forward and of dY backward, to one neighbour while the other one's are received.
  double Halos(const Layer& layer) const {
    if (rows_ == 1 || layer.rows.extent == 1) return 0;
    const auto exchange = [&](const LayerImage& image, int64_t extent) {
      const auto row = static_cast<double>(image.width * image.channels * (extent / 2));
      return link_.SecondsOf(row * SamplesOfColumn() * options_.element_bytes);
    };
    return exchange(layer.input, layer.rows.extent) + exchange(layer.output, layer.columns.extent);
  }

  const int rows_, columns_;
  const GridOptions& options_;
  const AlphaBeta& link_;
};

}  // namespace

double GridSeconds(const std::vector<Layer>& layers, int rows, int columns, const GridOptions& options,
                   const AlphaBeta& link) {
  const Grid grid(rows, columns, options, link);
  double seconds = 0;
  for (const Layer& layer : layers) seconds += grid.SecondsOf(layer, &layer == &layers.front());
  return seconds;
}

double BoundarySeconds(const std::vector<Layer>& layers, int rows, int columns, const GridOptions& options,
                       const AlphaBeta& link) {
  if (options.form == GridForm::kIntegrated) return 0;
  for (const Layer& layer : layers) {
    if (layer.kind == LayerKind::kDense) {
      return Grid(rows, columns, options, link).Gather(layer.input.elements());
    }
  }
  return 0;
}

double BatchOfCrossover(const Layer& layer) {
  return 2.0 * static_cast<double>(layer.weights) / (3.0 * static_cast<double>(layer.output.elements()));
}

}  // namespace partita
