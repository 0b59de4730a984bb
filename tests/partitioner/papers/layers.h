// A network as the papers see it: a chain of convolutions, pools and dense layers with their sizes.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_LAYERS_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace partita {

enum class LayerKind : uint8_t { kConvolution, kPool, kDense };

// Of one sample; of a dense layer 1 x 1 x features.
struct LayerImage {
  int64_t height = 1, width = 1, channels = 1;

  int64_t elements() const { return height * width * channels; }
};

// Of windows along one dimension of an image.
struct LayerWindow {
  int64_t extent = 1, stride = 1, before = 0;  // before: padding
};

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::kDense;
  LayerImage input, output;
  LayerWindow rows, columns;  // of convolutions and pools
  int64_t weights = 0;        // without biases
  int64_t biases = 0;
  double multiply_adds = 0;  // forward, of one sample
};

// In their order; what is computed element by element belongs to no layer, and a bias to the layer before. Of a dense
// layer behind images the input is these. kInvalidArgument names a layer that does not follow the one before alone (a
// branch, a sum): closed forms are of chains.
absl::StatusOr<std::vector<Layer>> LayersOf(const Graph& forward);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_LAYERS_H_
