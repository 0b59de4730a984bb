#include "tests/equivalence/near_tie.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ir/op_definition.h"
#include "ops/forms/window.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kNear = 1e-6;

double Largest(const std::vector<double>& elements) {
  double largest = 0;
  for (double element : elements) largest = std::max(largest, std::abs(element));
  return largest;
}

bool ReluNearTie(const WholeValue& x) {
  const double near = kNear * Largest(x.elements);
  return std::any_of(x.elements.begin(), x.elements.end(),
                     [near](double element) { return element != 0 && std::abs(element) < near; });
}

// The gap between the two largest values of the window of one output; infinite if it has one value.
double Gap(const WholeValue& x, const Window& window, int64_t n, int64_t row, int64_t column, int64_t channel) {
  const int64_t height = x.shape[1], width = x.shape[2], channels = x.shape[3];
  double first = -std::numeric_limits<double>::infinity(), second = first;
  for (int64_t i = 0; i < window.kernel[0]; ++i) {
    const int64_t h = row * window.stride[0] - window.before[0] + i;
    if (h < 0 || h >= height) continue;
    for (int64_t j = 0; j < window.kernel[1]; ++j) {
      const int64_t w = column * window.stride[1] - window.before[1] + j;
      if (w < 0 || w >= width) continue;
      const double element = x.elements[((n * height + h) * width + w) * channels + channel];
      second = std::max(second, std::min(first, element));
      first = std::max(first, element);
    }
  }
  return first - second;
}

bool PoolNearTie(const WholeValue& x, const Window& window, const Shape& outputs) {
  const double near = kNear * Largest(x.elements);
  for (int64_t n = 0; n < outputs[0]; ++n) {
    for (int64_t row = 0; row < outputs[1]; ++row) {
      for (int64_t column = 0; column < outputs[2]; ++column) {
        for (int64_t channel = 0; channel < outputs[3]; ++channel) {
          const double gap = Gap(x, window, n, row, column, channel);
          if (gap > 0 && gap < near) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> FindNearTie(const Session& serial) {
  const Graph& graph = serial.graph(kTrainEntry);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const bool relu = node.op->name == "relu";
    if (!relu && node.op->name != "max_pool") continue;
    ASSIGN_OR_RETURN(const WholeValue x, serial.Observed(graph.value(node.inputs[0]).name));
    if (relu) {
      if (ReluNearTie(x)) return graph.name(id);
      continue;
    }
    ASSIGN_OR_RETURN(const Window window, PoolingWindow(node.attributes));
    if (PoolNearTie(x, window, graph.type(node.outputs[0]).shape)) return graph.name(id);
  }
  return std::string();
}

}  // namespace partita
