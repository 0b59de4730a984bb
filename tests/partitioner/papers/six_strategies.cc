#include "tests/partitioner/papers/six_strategies.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/stages.h"

namespace partita {
namespace {

class Epoch {
 public:
  Epoch(const std::vector<Layer>& layers, const std::vector<LayerSeconds>& seconds, const EpochOptions& options,
        const AlphaBeta& link)
      : layers_(layers), seconds_(seconds), options_(options), link_(link) {}

  EpochCost Data() const { return {Compute(1), Gradients(options_.devices, 1)}; }

  EpochCost Spatial(int replicas) const { return {Compute(1), Gradients(options_.devices, 1) + Halos(replicas)}; }

  // Filters and channels move the same: of the one outputs are gathered and gradients of inputs summed, of the other
  // the reverse.
  EpochCost Sharded(int replicas) const {
    const int parts = options_.devices / replicas;
    return {Compute(parts), Activations(parts) + Gradients(replicas, parts)};
  }

  absl::StatusOr<EpochCost> Pipeline() const {
    std::vector<double> work;
    for (const LayerSeconds& layer : seconds_) work.push_back(layer.forward + layer.backward);
    ASSIGN_OR_RETURN(const std::vector<size_t> ends, BalancedStages(work, options_.devices));
    double forward = 0, backward = 0, update = 0, boundary = 0;
    size_t begin = 0;
    for (size_t end : ends) {
      LayerSeconds stage;
      for (size_t l = begin; l < end; ++l) {
        stage.forward += seconds_[l].forward;
        stage.backward += seconds_[l].backward;
        stage.update += seconds_[l].update;
      }
      forward = std::max(forward, stage.forward);
      backward = std::max(backward, stage.backward);
      update = std::max(update, stage.update);
      if (end < layers_.size()) boundary = std::max(boundary, Bytes(layers_[end - 1].output.elements()));
      begin = end;
    }
    const double p = options_.devices, s = options_.segments, d = static_cast<double>(options_.samples);
    const double message = link_.SecondsOf(Batch() / s * boundary);
    return EpochCost{d * (p + s - 1) / s * (forward + backward) + Steps() * update,
                     options_.devices == 1 ? 0 : 2 * Steps() * (p + s - 2) * message};
  }

 private:
  double Batch() const { return static_cast<double>(options_.batch); }
  double Steps() const { return static_cast<double>(options_.samples) / Batch(); }
  double Bytes(int64_t elements) const { return static_cast<double>(elements) * options_.element_bytes; }

  // Samples and parts of samples are computed by all devices alike; `shards`: of the weights, which are updated.
  double Compute(int shards) const {
    double samples = 0, update = 0;
    for (const LayerSeconds& layer : seconds_) {
      samples += layer.forward + layer.backward;
      update += layer.update / shards;
    }
    return static_cast<double>(options_.samples) / options_.devices * samples + Steps() * update;
  }

  // A ring over `ranks`, each of which holds a shard.
  double Gradients(int ranks, int shards) const {
    double bytes = 0;
    for (const Layer& layer : layers_) bytes += Bytes(layer.weights + layer.biases);
    return 2 * Steps() * (ranks - 1) * link_.SecondsOf(bytes / shards / ranks);
  }

  // Of every layer with weights but the last.
  double Activations(int parts) const {
    double seconds = 0;
    const Layer* last = nullptr;
    for (const Layer& layer : layers_) {
      if (layer.weights == 0) continue;
      if (last) seconds += link_.SecondsOf(Batch() * Bytes(last->output.elements()) / options_.devices);
      last = &layer;
    }
    return 3 * Steps() * (parts - 1) * seconds;
  }

  // Rows of images: to and from both neighbours, of the input forward and of the output's gradient backward.
  double Halos(int replicas) const {
    if (options_.devices == replicas) return 0;
    double seconds = 0;
    for (const Layer& layer : layers_) {
      if (layer.kind == LayerKind::kDense || layer.rows.extent == 1) continue;
      const int64_t rows = 2 * (layer.rows.extent / 2);
      const int64_t elements = rows * (layer.input.width * layer.input.channels +  //
                                       layer.output.width * layer.output.channels);
      seconds += 2 * link_.alpha + Batch() / replicas * Bytes(elements) * link_.beta;
    }
    return Steps() * seconds;
  }

  const std::vector<Layer>& layers_;
  const std::vector<LayerSeconds>& seconds_;
  const EpochOptions& options_;
  const AlphaBeta& link_;
};

// Filters are a layer's output channels; the last layer's may be as few as there are classes.
absl::Status CheckParts(ParallelForm form, const std::vector<Layer>& layers, int parts) {
  const bool channels = form == ParallelForm::kChannel;
  for (size_t l = 0; l < layers.size(); ++l) {
    // Of the first layer the images' channels stay whole.
    if (layers[l].weights == 0 || (channels && l == 0)) continue;
    const LayerImage& image = channels ? layers[l].input : layers[l].output;
    const int64_t most = layers[l].kind == LayerKind::kDense ? image.elements() : image.channels;
    if (most >= parts) continue;
    return InvalidArgument("layer '{}' has {} {}, which cannot be cut into {} parts", layers[l].name, most,
                           channels ? "channels" : "filters", parts);
  }
  return absl::OkStatus();
}

bool IsSharded(ParallelForm form) {
  return form == ParallelForm::kFilter || form == ParallelForm::kChannel || form == ParallelForm::kDataFilter;
}

bool HasReplicas(ParallelForm form) { return form == ParallelForm::kDataFilter || form == ParallelForm::kDataSpatial; }

}  // namespace

const char* Name(ParallelForm form) {
  constexpr const char* kNames[] = {"data",    "spatial",       "pipeline",      "filter",
                                    "channel", "data + filter", "data + spatial"};
  return kNames[static_cast<int>(form)];
}

absl::StatusOr<EpochCost> CostOfEpoch(ParallelForm form, const std::vector<Layer>& layers,
                                      const std::vector<LayerSeconds>& seconds, const EpochOptions& options,
                                      const AlphaBeta& link) {
  CHECK(layers.size() == seconds.size());
  const int replicas = HasReplicas(form) ? options.replicas : 1;
  if (replicas < 1 || options.devices % replicas != 0) {
    return InvalidArgument("{} devices are no whole number for each of {}", options.devices,
                           Counted(replicas, "replica"));
  }
  if (IsSharded(form)) RETURN_IF_ERROR(CheckParts(form, layers, options.devices / replicas));
  const Epoch epoch(layers, seconds, options, link);
  if (form == ParallelForm::kData) return epoch.Data();
  if (form == ParallelForm::kPipeline) return epoch.Pipeline();
  return IsSharded(form) ? epoch.Sharded(replicas) : epoch.Spatial(replicas);
}

}  // namespace partita
