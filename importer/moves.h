// Parts of values, for the translations of several families of ops. Dimensions are PyTorch's.
#ifndef PARTITA_IMPORTER_MOVES_H_
#define PARTITA_IMPORTER_MOVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/translator.h"

namespace partita::torch_export {

// The elements [begin, begin + size) of a dimension.
absl::StatusOr<Imported> Cut(Translator& translator, const Imported& value, int dimension, int64_t begin, int64_t size,
                             const std::string& name);
// The elements of a dimension at those places, in this order: a slice, a reshape, or a product with a matrix of 0
// and 1.
absl::StatusOr<Imported> Taken(Translator& translator, const Imported& value, int dimension,
                               const std::vector<int64_t>& indices, const std::string& name);
// A dimension times a constant matrix [made, size], row-major: the other dimensions stay where they are.
absl::StatusOr<Imported> Mixed(Translator& translator, const Imported& value, int dimension,
                               const std::vector<double>& matrix, const std::string& name);
// The operand of a slice or a select, with `part` in place of what that takes of it.
absl::StatusOr<Imported> Replaced(Translator& translator, const Node& view, const Imported& part,
                                  const std::string& name);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_MOVES_H_
