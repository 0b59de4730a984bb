#include "tests/partitioner/papers/layerwise_cost.h"

#include <algorithm>
#include <array>

#include "graph/value/layout.h"
#include "graph/value/windows.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr double kElementBytes = 4;

// Samples, channels, rows, columns of a value.
using Region = std::array<Range, 4>;

int64_t ElementsOf(const Region& region) {
  int64_t elements = 1;
  for (const Range& range : region) elements *= std::max<int64_t>(range.size(), 0);
  return elements;
}

Range Block(int64_t size, int parts, int index) {
  const std::vector<int64_t> cuts = BalancedCuts(size, parts);
  return {cuts[index], cuts[index + 1]};
}

// Of the layer's output.
Region PartOf(const Layer& layer, const LayerDegrees& degrees, int64_t batch, int part) {
  const int column = part % degrees.width, row = part / degrees.width % degrees.height;
  const int channel = part / degrees.width / degrees.height % degrees.channels;
  const int sample = part / degrees.width / degrees.height / degrees.channels;
  return {Block(batch, degrees.samples, sample), Block(layer.output.channels, degrees.channels, channel),
          Block(layer.output.height, degrees.height, row), Block(layer.output.width, degrees.width, column)};
}

Range InputOf(const LayerWindow& window, const Range& outputs, int64_t size) {
  if (outputs.empty()) return {0, 0};
  const int64_t begin = outputs.begin * window.stride - window.before;
  return Overlap({begin, (outputs.end - 1) * window.stride - window.before + window.extent}, {0, size});
}

// Of the layer's input, for such a part of its output.
Region NeededFor(const Layer& layer, const Region& part) {
  const LayerImage& image = layer.input;
  if (layer.kind == LayerKind::kDense) return {part[0], {0, image.channels}, {0, image.height}, {0, image.width}};
  const Range channels = layer.kind == LayerKind::kPool ? part[1] : Range{0, image.channels};
  return {part[0], channels, InputOf(layer.rows, part[2], image.height), InputOf(layer.columns, part[3], image.width)};
}

Region Overlap(const Region& a, const Region& b) {
  Region both;
  for (size_t d = 0; d < both.size(); ++d) both[d] = Overlap(a[d], b[d]);
  return both;
}

double WeightBytes(const Layer& layer) { return kElementBytes * static_cast<double>(layer.weights + layer.biases); }

}  // namespace

double ComputeSeconds(const Layer& layer, const LayerDegrees& degrees, int64_t batch, const LayerwiseMachine& machine) {
  return 6 * layer.multiply_adds * static_cast<double>(batch) / degrees.parts() / machine.flops_per_second;
}

double SyncSeconds(const Layer& layer, const LayerDegrees& degrees, const LayerwiseMachine& machine) {
  const double replicas = degrees.replicas();
  return 2 * (replicas - 1) / replicas * WeightBytes(layer) / degrees.channels / machine.bytes_per_second;
}

double SyncBytes(const Layer& layer, const LayerDegrees& degrees) {
  return 2.0 * (degrees.replicas() - 1) * WeightBytes(layer);
}

LayerTransfer TransferOf(const Layer& before, const LayerDegrees& before_degrees, const Layer& layer,
                         const LayerDegrees& degrees, int64_t batch) {
  LayerTransfer transfer;
  for (int part = 0; part < degrees.parts(); ++part) {
    const Region needed = NeededFor(layer, PartOf(layer, degrees, batch, part));
    int64_t missing = ElementsOf(needed);
    if (part < before_degrees.parts()) {
      missing -= ElementsOf(Overlap(needed, PartOf(before, before_degrees, batch, part)));
    }
    const double bytes = 2 * kElementBytes * static_cast<double>(missing);
    transfer.most_bytes = std::max(transfer.most_bytes, bytes);
    transfer.all_bytes += bytes;
  }
  return transfer;
}

LayerwiseCost CostOfChain(const std::vector<Layer>& layers, const std::vector<LayerDegrees>& degrees, int64_t batch,
                          const LayerwiseMachine& machine) {
  CHECK(layers.size() == degrees.size());
  LayerwiseCost cost;
  for (size_t l = 0; l < layers.size(); ++l) {
    cost.compute += ComputeSeconds(layers[l], degrees[l], batch, machine);
    cost.sync += SyncSeconds(layers[l], degrees[l], machine);
    cost.wire_bytes += SyncBytes(layers[l], degrees[l]);
    if (l == 0) continue;
    const LayerTransfer transfer = TransferOf(layers[l - 1], degrees[l - 1], layers[l], degrees[l], batch);
    cost.transfer += transfer.most_bytes / machine.bytes_per_second;
    cost.wire_bytes += transfer.all_bytes;
  }
  return cost;
}

}  // namespace partita
