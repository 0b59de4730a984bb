// Parts of values, for the translations of several families of ops. Dimensions are PyTorch's.
#ifndef PARTITA_IMPORTER_TRANSLATION_MOVES_H_
#define PARTITA_IMPORTER_TRANSLATION_MOVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/translation/translator.h"

namespace partita::torch_export {

inline constexpr int64_t kMostSelected = int64_t{1} << 24;  // elements of a matrix that takes or repeats others

// The elements [begin, begin + size) of a dimension.
absl::StatusOr<Imported> Cut(Translator& translator, const Imported& value, int dimension, int64_t begin, int64_t size,
                             const std::string& name);
// The elements of a dimension at those places, in this order: a slice, a reshape, or a product with a matrix of 0
// and 1.
absl::StatusOr<Imported> Taken(Translator& translator, const Imported& value, int dimension,
                               const std::vector<int64_t>& indices, const std::string& name);
// Of a dimension of `of` batches: `samples` batches, from batch `begin` on.
struct PartOfBatch {
  int64_t of = 1, begin = 0, samples = 1;
};
absl::StatusOr<Imported> CutBatch(Translator& translator, const Imported& value, int dimension, const PartOfBatch& part,
                                  const std::string& name);
// Without dimensions of size 1.
absl::StatusOr<Imported> Dropped(Translator& translator, const Imported& value, const std::vector<bool>& dropped,
                                 const std::string& name);
// With a further dimension of size 1, that of PyTorch's number `dimension`.
absl::StatusOr<Imported> WithOne(Translator& translator, const Imported& value, int dimension, const std::string& name);
// A dimension times a matrix [made, size] that is a node: the other dimensions stay where they are.
absl::StatusOr<Imported> MixedBy(Translator& translator, const Imported& value, int dimension,
                                 const std::string& matrix, const std::string& name);
// A dimension times a constant matrix [made, size], row-major: the other dimensions stay where they are.
absl::StatusOr<Imported> Mixed(Translator& translator, const Imported& value, int dimension,
                               const std::vector<double>& matrix, const std::string& name);
// The mean or the sum ("mean", "sum") of a value over the dimensions that the node names in `dim`, all without;
// `keepdim` keeps them with size 1.
absl::StatusOr<Imported> Summed(Translator& translator, const Node& node, const Imported& value, const std::string& op,
                                const std::string& name);
// The same over one dimension, which is dropped unless `kept`.
absl::StatusOr<Imported> SummedOver(Translator& translator, const Imported& value, int dimension, bool kept,
                                    const std::string& name);
// The operand of a slice or a select, with `part` in place of what that takes of it.
absl::StatusOr<Imported> Replaced(Translator& translator, const Node& view, const Imported& part,
                                  const std::string& name);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_TRANSLATION_MOVES_H_
