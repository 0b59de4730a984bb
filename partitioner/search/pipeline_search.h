// BaPipe's balanced pipeline (2012.12544): where to cut a chain of layers into stages, into how many micro-batches to
// cut the batch, and which order to follow: one of those in which gradients cross stages (graph/derive/pipeline.h).
#ifndef PARTITA_PARTITIONER_SEARCH_PIPELINE_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_PIPELINE_SEARCH_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/pipeline.h"
#include "partitioner/search/answer.h"

namespace partita {

// Of the whole batch, but where it says otherwise.
struct PipelineLayer {
  std::string layer;
  double forward = 0, backward = 0;  // seconds
  double fixed = 0;                  // seconds that each micro-batch costs besides
  double send = 0;                   // seconds of the output on its way to the next stage; as long for its gradient
  double latency = 0;                // of each such way of a micro-batch
  double weight_bytes = 0;           // with gradients and optimizer slots
  double activation_bytes = 0;       // kept from forward to backward
};

struct PipelinePlan {
  std::vector<int> first_layer;  // of each stage
  int micro_batches = 1;
  PipelineOrder order = PipelineOrder::kGPipe;
};

struct PipelineLimits {
  int stages = 1;                                          // at most
  std::vector<int> micro_batches;                          // that divide the batch
  double bytes = std::numeric_limits<double>::infinity();  // of a stage
};

// The paper's closed form: one micro-batch through all stages and back, and the slowest stage m - 1 times. Sends are
// part of the stages' time, or, overlapped, stages of their own.
double PipelineSeconds(const std::vector<PipelineLayer>& layers, const PipelinePlan& plan);

// Of the fullest stage.
double PipelineBytes(const std::vector<PipelineLayer>& layers, const PipelinePlan& plan);

// The best by the closed form, exactly. Rejected: the best of each other order and number of micro-batches. Refuses
// limits under which no cuts fit.
absl::StatusOr<Answer<PipelinePlan>> PipelineSearch(const std::vector<PipelineLayer>& layers,
                                                    const PipelineLimits& limits);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PIPELINE_SEARCH_H_
