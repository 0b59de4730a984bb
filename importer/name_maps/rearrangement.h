// How the dimensions of a tensor in a file become those of a state of the graph.
//
//   oihw>ohwi                a convolution's weights of PyTorch
//   oi>io                    a linear layer's
//   o(chw)>(hwc)o h=7 w=7    a linear layer's behind 7 x 7 images, which PyTorch flattens with channels first
//   1td>td                   a table of positions
//   oi>io part=o:2/3         the last of three layers that one tensor has
//
// Letters are dimensions, letters in parentheses are one dimension together, and 1 is a dimension of size 1. Both sides
// have the same letters; those of a state's dimension with more than one letter have sizes, except one.
#ifndef PARTITA_IMPORTER_NAME_MAPS_REARRANGEMENT_H_
#define PARTITA_IMPORTER_NAME_MAPS_REARRANGEMENT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/shape.h"

namespace partita {

class Rearrangement {
 public:
  // Both have the same dimensions.
  Rearrangement() = default;
  // kInvalidArgument: the words are not as above. None: both have the same dimensions.
  static absl::StatusOr<Rearrangement> Parse(std::span<const std::string> words);
  // The state's dimension d is the tensor's order[d].
  static Rearrangement OfOrder(std::span<const int> order);

  // kInvalidArgument: the state's dimensions do not fit.
  absl::StatusOr<std::vector<int64_t>> TensorShape(const Shape& state) const;
  // Where each element of the state, in order, lies in the tensor.
  absl::StatusOr<std::vector<int64_t>> Places(const Shape& state) const;

 private:
  using Dimension = std::string;  // its letters; "1"
  using Sizes = std::map<char, int64_t>;

  static absl::StatusOr<std::vector<Dimension>> ParseSide(std::string_view side);
  absl::StatusOr<Sizes> SizesOf(const Shape& state) const;
  int64_t SizeInTensor(char letter, const Sizes& sizes) const;

  bool is_same_ = true;
  std::vector<Dimension> tensor_, state_;
  Sizes given_;
  char parted_ = 0;  // 0: the tensor has no more than the state
  int64_t part_ = 0, parts_ = 1;
};

}  // namespace partita

#endif  // PARTITA_IMPORTER_NAME_MAPS_REARRANGEMENT_H_
