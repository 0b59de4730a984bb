#include "partitioner/search/pipeline_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// What stages cost in one order and number of micro-batches. A stage is the layers from `begin` to before `end`.
class Stages {
 public:
  Stages(const std::vector<PipelineLayer>& layers, int micro_batches, PipelineOrder order)
      : layers_(layers), micro_batches_(micro_batches), order_(order), until_(1) {
    for (const PipelineLayer& layer : layers) {
      Sums sums = until_.back();
      sums.seconds += (layer.forward + layer.backward) / micro_batches + layer.fixed;
      sums.weights += layer.weight_bytes;
      sums.activations += layer.activation_bytes / micro_batches;
      until_.push_back(sums);
    }
  }

  int layers() const { return static_cast<int>(layers_.size()); }

  // What a stage adds to the way of a micro-batch through all stages: its own seconds, its output's way and back.
  double Way(int begin, int end) const { return Seconds(begin, end) + 2 * Send(end); }

  // It computes for so long: its beat is no shorter, nor that of more layers.
  double Seconds(int begin, int end) const { return until_[end].seconds - until_[begin].seconds; }

  // How often it can take a micro-batch.
  double Beat(int begin, int end) const {
    if (order_ == PipelineOrder::kOverlapFriendly) return std::max(Seconds(begin, end), Send(end));
    return Seconds(begin, end) + Send(begin) + Send(end);
  }

  // `left`: stages from this one to the last.
  double Bytes(int begin, int end, int left) const {
    const auto kept = static_cast<double>(WarmUp(order_, left, micro_batches_, 0));
    return until_[end].weights - until_[begin].weights + kept * (until_[end].activations - until_[begin].activations);
  }

 private:
  struct Sums {
    double seconds = 0, weights = 0, activations = 0;
  };

  // Of a micro-batch over the cut before `layer`.
  double Send(int layer) const {
    if (layer == 0 || layer == layers()) return 0;
    return layers_[layer - 1].send / micro_batches_ + layers_[layer - 1].latency;
  }

  const std::vector<PipelineLayer>& layers_;
  int micro_batches_;
  PipelineOrder order_;
  std::vector<Sums> until_;  // before each layer, and behind the last
};

int EndOf(const PipelinePlan& plan, size_t stage, int layers) {
  return stage + 1 < plan.first_layer.size() ? plan.first_layer[stage + 1] : layers;
}

// The cuts of the least way whose stages fit and have no longer beat than `beat`.
struct Cuts {
  double way = kNone;
  std::vector<int> first_layer;
};

Cuts LeastWay(const Stages& stages, const PipelineLimits& limits, double beat) {
  const int layers = stages.layers(), most = std::min(limits.stages, layers);
  // By the number of stages that are left and the first layer of these: the way to the end, and the next stage's first.
  std::vector<std::vector<double>> way(most + 1, std::vector<double>(layers + 1, kNone));
  std::vector<std::vector<int>> next(most + 1, std::vector<int>(layers + 1, 0));
  way[0][layers] = 0;
  Cuts best;
  int best_left = 0;
  for (int left = 1; left <= most; ++left) {
    for (int begin = layers - left; begin >= 0; --begin) {
      for (int end = begin + 1; end <= layers; ++end) {
        if (stages.Seconds(begin, end) > beat || stages.Bytes(begin, end, left) > limits.bytes) break;
        if (way[left - 1][end] == kNone || stages.Beat(begin, end) > beat) continue;
        const double seconds = stages.Way(begin, end) + way[left - 1][end];
        if (seconds >= way[left][begin]) continue;
        way[left][begin] = seconds;
        next[left][begin] = end;
      }
    }
    if (way[left][0] < best.way) {
      best.way = way[left][0];
      best_left = left;
    }
  }
  for (int layer = 0, left = best_left; left > 0; layer = next[left--][layer]) best.first_layer.push_back(layer);
  return best;
}

// Rising, each once.
std::vector<double> Beats(const Stages& stages) {
  std::set<double> beats;
  for (int begin = 0; begin < stages.layers(); ++begin) {
    for (int end = begin + 1; end <= stages.layers(); ++end) beats.insert(stages.Beat(begin, end));
  }
  return {beats.begin(), beats.end()};
}

struct Found {
  PipelinePlan plan;
  double seconds = kNone;
};

// A longer beat allows a shorter way. Of beats with the same way only the shortest counts, and where two beats have one
// way, so have all between them.
class CutSearch {
 public:
  CutSearch(const std::vector<PipelineLayer>& layers, const PipelineLimits& limits, int micro_batches,
            PipelineOrder order)
      : layers_(layers),
        limits_(limits),
        stages_(layers, micro_batches, order),
        further_(micro_batches - 1),
        found_{{{}, micro_batches, order}, kNone} {}

  Found Best() {
    if (further_ == 0) {  // no micro-batch waits for the one before
      Take(LeastWay(stages_, limits_, kNone), 0);
      return found_;
    }
    beats_ = Beats(stages_);
    const int last = static_cast<int>(beats_.size()) - 1;
    Between(-1, kNone, last, Try(last));
    return found_;
  }

 private:
  double Try(int beat) {
    Cuts cuts = LeastWay(stages_, limits_, beats_[beat]);
    const double way = cuts.way;
    Take(std::move(cuts), beat);
    return way;
  }

  // Of equal plans the one of the shortest beat.
  void Take(Cuts cuts, int beat) {
    if (cuts.way == kNone) return;
    PipelinePlan plan = found_.plan;
    plan.first_layer = std::move(cuts.first_layer);
    const double seconds = PipelineSeconds(layers_, plan);
    if (seconds > found_.seconds || (seconds == found_.seconds && beat > beat_)) return;
    found_ = {std::move(plan), seconds};
    beat_ = beat;
  }

  // The beats between two with these ways, the shorter ones first; -1: before all.
  void Between(int low, double low_way, int high, double high_way) {
    if (high - low < 2 || low_way == high_way) return;
    if (high_way + further_ * beats_[low + 1] > found_.seconds) return;
    const int middle = low + (high - low) / 2;
    const double way = Try(middle);
    Between(low, low_way, middle, way);
    Between(middle, way, high, high_way);
  }

  const std::vector<PipelineLayer>& layers_;
  const PipelineLimits& limits_;
  const Stages stages_;
  const double further_;  // micro-batches behind the first
  std::vector<double> beats_;
  Found found_;
  int beat_ = 0;  // of the found one
};

Found BestCuts(const std::vector<PipelineLayer>& layers, const PipelineLimits& limits, int micro_batches,
               PipelineOrder order) {
  return CutSearch(layers, limits, micro_batches, order).Best();
}

absl::Status Check(const std::vector<PipelineLayer>& layers, const PipelineLimits& limits) {
  if (layers.empty() || limits.stages < 1 || limits.micro_batches.empty())
    return InvalidArgument("{} layers, {} stages and {} numbers of micro-batches: at least one of each is needed",
                           layers.size(), limits.stages, limits.micro_batches.size());
  for (const int count : limits.micro_batches) {
    if (count < 1) return InvalidArgument("{} micro-batches: at least one is needed", count);
  }
  for (const PipelineLayer& layer : layers) {
    for (const double cost : {layer.forward, layer.backward, layer.fixed, layer.send, layer.latency, layer.weight_bytes,
                              layer.activation_bytes}) {
      if (!(cost >= 0) || std::isinf(cost))
        return InvalidArgument("layer '{}' has a cost of {}: it is finite and not below zero", layer.layer, cost);
    }
  }
  return absl::OkStatus();
}

Rejected Reject(const std::vector<PipelineLayer>& layers, const Found& found, double best) {
  Rejected rejected{fmt::format("{} with {}", Name(found.plan.order), Counted(found.plan.micro_batches, "micro-batch")),
                    found.seconds, 0, "does not fit, wherever it is cut"};
  if (found.seconds == kNone) return rejected;
  const double slower = 1e6 * (found.seconds - best);
  rejected.plan += " in " + Counted(found.plan.first_layer.size(), "stage");
  rejected.bytes = PipelineBytes(layers, found.plan);
  rejected.reason = slower > 0 ? fmt::format("slower by {:.4g} us", slower) : "as fast";
  return rejected;
}

}  // namespace

double PipelineSeconds(const std::vector<PipelineLayer>& layers, const PipelinePlan& plan) {
  const Stages stages(layers, plan.micro_batches, plan.order);
  double way = 0, beat = 0;
  for (size_t i = 0; i < plan.first_layer.size(); ++i) {
    const int end = EndOf(plan, i, stages.layers());
    way += stages.Way(plan.first_layer[i], end);
    beat = std::max(beat, stages.Beat(plan.first_layer[i], end));
  }
  return way + (plan.micro_batches - 1) * beat;
}

double PipelineBytes(const std::vector<PipelineLayer>& layers, const PipelinePlan& plan) {
  const Stages stages(layers, plan.micro_batches, plan.order);
  double bytes = 0;
  for (size_t i = 0; i < plan.first_layer.size(); ++i) {
    const int left = static_cast<int>(plan.first_layer.size() - i);
    bytes = std::max(bytes, stages.Bytes(plan.first_layer[i], EndOf(plan, i, stages.layers()), left));
  }
  return bytes;
}

absl::StatusOr<Answer<PipelinePlan>> PipelineSearch(const std::vector<PipelineLayer>& layers,
                                                    const PipelineLimits& limits) {
  RETURN_IF_ERROR(Check(layers, limits));
  std::vector<Found> all;
  for (const int micro_batches : limits.micro_batches) {
    for (const PipelineOrder order :
         {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward, PipelineOrder::kOverlapFriendly})
      all.push_back(BestCuts(layers, limits, micro_batches, order));
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.seconds < b.seconds; });
  const Found& best = all.front();
  if (best.seconds == kNone)
    return ResourceExhausted("no cuts of {} into at most {} fit {:.6g} bytes a stage", Counted(layers.size(), "layer"),
                             Counted(limits.stages, "stage"), limits.bytes);
  Answer<PipelinePlan> answer{{best.seconds, PipelineBytes(layers, best.plan), best.seconds, {}}, best.plan};
  for (size_t i = 1; i < all.size(); ++i) answer.rejected.push_back(Reject(layers, all[i], best.seconds));
  return answer;
}

}  // namespace partita
