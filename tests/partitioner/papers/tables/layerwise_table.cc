#include <fmt/format.h>

#include "runtime/base/status.h"
#include "tests/partitioner/papers/layerwise_cost.h"
#include "tests/partitioner/papers/tables/tables.h"

namespace partita {
namespace {

constexpr LayerwiseMachine kMachine = {8e12, 20e9};

struct Row {
  const char* model;
  int devices;
  int64_t batch;
  LayerDegrees convolutions, dense;  // pools as convolutions
};
constexpr Row kRows[] = {
    {"alexnet", 4, 128, {4, 1, 1, 1}, {4, 1, 1, 1}},   {"alexnet", 4, 128, {1, 4, 1, 1}, {1, 4, 1, 1}},
    {"alexnet", 4, 128, {4, 1, 1, 1}, {1, 4, 1, 1}},   {"vgg-16", 4, 128, {4, 1, 1, 1}, {4, 1, 1, 1}},
    {"vgg-16", 4, 128, {1, 4, 1, 1}, {1, 4, 1, 1}},    {"vgg-16", 4, 128, {4, 1, 1, 1}, {1, 4, 1, 1}},
    {"vgg-16", 16, 512, {16, 1, 1, 1}, {16, 1, 1, 1}}, {"vgg-16", 16, 512, {16, 1, 1, 1}, {2, 8, 1, 1}},
    {"vgg-16", 4, 1, {1, 4, 1, 1}, {1, 4, 1, 1}},      {"vgg-16", 4, 1, {1, 1, 4, 1}, {1, 4, 1, 1}}};

// "n2 c8"
std::string Printed(const LayerDegrees& degrees) {
  std::string text;
  const auto add = [&text](char dimension, int degree) {
    if (degree > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", dimension, degree);
  };
  add('n', degrees.samples);
  add('c', degrees.channels);
  add('h', degrees.height);
  add('w', degrees.width);
  return text;
}

// Replicas, layers that are split by output channels, and convolutions as replicas before dense layers that are split.
std::vector<Row> RowsOn(int devices, int64_t batch) {
  std::vector<Row> rows;
  const LayerDegrees samples{.samples = devices}, channels{.channels = devices};
  for (const char* const model : {"alexnet", "vgg-16"}) {
    rows.push_back({model, devices, batch, samples, samples});
    rows.push_back({model, devices, batch, channels, channels});
    rows.push_back({model, devices, batch, samples, channels});
  }
  return rows;
}

std::vector<Row> RowsOf(const TableSizes& sizes) {
  if (sizes.ranks == 0 && sizes.batch == 0) return {std::begin(kRows), std::end(kRows)};
  return RowsOn(sizes.ranks > 0 ? sizes.ranks : kRows[0].devices, sizes.batch > 0 ? sizes.batch : kRows[0].batch);
}

absl::StatusOr<std::string> Print(const TableSizes& sizes) {
  std::string text = fmt::format(
      "a step, ms; 8 TFLOP/s, 20 GB/s\n{:<8} {:>7} {:>5}  {:<12} {:<6} {:>9} {:>8} {:>8} {:>9} {:>9}\n", "network",
      "devices", "batch", "convolutions", "dense", "compute", "sync", "transfer", "all", "MB wire");
  for (const Row& row : RowsOf(sizes)) {
    ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped(row.model));
    std::vector<LayerDegrees> degrees;
    for (const Layer& layer : layers) {
      degrees.push_back(layer.kind == LayerKind::kDense ? row.dense : row.convolutions);
    }
    const LayerwiseCost cost = CostOfChain(layers, degrees, row.batch, kMachine);
    text += fmt::format("{:<8} {:>7} {:>5}  {:<12} {:<6} {:9.3f} {:8.3f} {:8.3f} {:9.3f} {:9.1f}\n", row.model,
                        row.devices, row.batch, Printed(row.convolutions), Printed(row.dense), 1e3 * cost.compute,
                        1e3 * cost.sync, 1e3 * cost.transfer, 1e3 * cost.seconds(), cost.wire_bytes / 1e6);
  }
  return text;
}

}  // namespace

PaperTable LayerwiseTable() {
  return {"layerwise", "Jia et al.: costs of configurations, layer by layer", true, true, Print};
}

}  // namespace partita
