// The strategy of `--dp N --mp M` (docs/derivation.md 1): N replicas, each split over M ranks, layer by layer as is
// best for it. With the channels split it is the 1.5-D grid Pr x Pc = M x N of Gholami et al. (1712.04432, section 2),
// with the rows of the convolutions' images split its domain form; with convolutions by samples and dense layers by
// channels the N groups of M workers of Joo and Youn (IEEE Access 9, 2021).
#ifndef PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_
#define PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"

namespace partita {

// What the ranks of a worker group share of a class of layers.
enum class LayerSplit : uint8_t {
  kChannels,  // output channels, each with its weights; layers with fewer than M stay whole
  kRows,      // the rows of images; weights are whole on every rank. Of convolutions only
  kSamples,   // the replica's samples: these layers are data parallel over all N x M ranks
};

struct DataModelOptions {
  LayerSplit convolutions = LayerSplit::kChannels;
  LayerSplit dense = LayerSplit::kChannels;
  // Of kReduceScatter, outputs stay split until a layer needs them whole: all_gather forward, reduce_scatter backward.
  // Of kAllReduce, they are gathered right after the layer, as the paper does.
  InputGradients input_gradients = InputGradients::kReduceScatter;
};

// Mesh data:N model:M. Samples over data; over model convolutions and matmuls as `options` say, other ops follow. With
// the channels split, a reshape keeps whole heads or classes, a loss takes classes in parts, and a table that is a
// layer's weight too lies as the layer reads it where that moves less; concat along split channels, other reshapes,
// softmax and accuracy are whole. Products of two activations [n,h,..] and what follows them, softmax too, are split by
// h, if that is at least M. It is legal for every batch and any number of micro-batches. Refuses N or M below 1, and
// rows of dense layers.
absl::StatusOr<Strategy> DataModelStrategy(const Graph& forward, int data, int model,
                                           const DataModelOptions& options = {});

// Bytes a second over the links within a group of M ranks, and of all N x M; what counts is their ratio.
struct SplitSpeed {
  double within_group = 1;
  double among_all = 1;
};

// By which a class of layers moves its bytes sooner over the links of N groups of M: 2 |W| per step among all ranks for
// weights that are on every one (samples), 3 B/N d within groups for activations of d numbers per sample (channels);
// |W| and d are summed over the class's layers (section 1.4 of the paper, with B/N for B).
LayerSplit CheaperSplit(const Graph& forward, int data, bool convolutions, const SplitSpeed& speed = {});

}  // namespace partita

#endif  // PARTITA_PARTITIONER_DATA_MODEL_STRATEGY_H_
