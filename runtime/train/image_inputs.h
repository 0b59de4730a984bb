// Maps the inputs of a graph to the parts of a batch of labelled images.
#ifndef PARTITA_RUNTIME_TRAIN_IMAGE_INPUTS_H_
#define PARTITA_RUNTIME_TRAIN_IMAGE_INPUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "runtime/data/image_dataset.h"

namespace partita {

struct ImageInputs {
  std::string images;   // the floating input: [batch, height, width, channels] or [batch, pixels]
  std::string labels;   // the i32 input: [batch]
  TensorType type;      // of the images
  int64_t classes = 0;  // that the graph tells apart

  int64_t batch() const { return type.shape[0]; }
  // As a data set would have them; of [batch, pixels]: one row of pixels.
  ImageShape shape() const;
};

// `forward`: a user's graph that labelled images can train; of others the data is arrays (runtime/data/arrays).
// kInvalidArgument names the input that is none of the two, or says what is missing.
absl::StatusOr<ImageInputs> FindImageInputs(const Graph& forward);

// kInvalidArgument: images of another shape (as many pixels are enough where the graph takes them flat), more classes
// than the graph tells apart.
absl::Status CheckDataset(const ImageInputs& inputs, const ImageDataset& dataset, const std::string& source);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_IMAGE_INPUTS_H_
