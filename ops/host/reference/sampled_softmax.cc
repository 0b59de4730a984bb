// Reference kernels of the sampled softmax.
#include <algorithm>

#include "ops/host/kernel/sampled_rows.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {
namespace {

// The different classes of draws in their order; a table of hashes says which there were. Returns how many draws it
// took, or `most` if that was not enough.
struct DifferentDraws {
  LogUniform uniform;
  int64_t samples, most, slots;

  explicit DifferentDraws(const LocalNode& node)
      : uniform(node.attributes.Int("classes")), samples(node.attributes.Int("samples")), slots(1) {
    most = MostDraws(uniform, samples);
    while (slots < 2 * samples) slots *= 2;
  }

  int64_t table_bytes() const { return slots * static_cast<int64_t>(sizeof(int32_t)); }

  static bool Insert(int32_t* table, int64_t slots, int32_t c) {
    int64_t at = static_cast<int64_t>(c) * 2654435761 % slots;
    while (table[at] >= 0 && table[at] != c) at = (at + 1) % slots;
    if (table[at] == c) return false;
    table[at] = c;
    return true;
  }

  int64_t Draw(uint64_t key, uint64_t iteration, int32_t* table, int32_t* ids) const {
    std::fill_n(table, slots, -1);
    std::fill_n(ids, samples, -1);
    int64_t found = 0;
    for (int64_t k = 0; k < most; ++k) {
      const auto c = static_cast<int32_t>(uniform.Draw(key, iteration, k));
      if (Insert(table, slots, c)) ids[found++] = c;
      if (found == samples) return k + 1;
    }
    return most;
  }
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceLogUniformIds(const LocalNode& node) {
  const DifferentDraws draws(node);
  const auto compute = [draws, name = node.attributes.String("key")](const KernelArguments& a) {
    const auto iteration = static_cast<uint64_t>(*In<int32_t>(a, 0));
    const int64_t count = draws.Draw(PhiloxKey(a.seed, name), iteration, Scratch<int32_t>(a), Out<int32_t>(a, 0));
    *Out<int32_t>(a, 1) = static_cast<int32_t>(count);
  };
  return Prepared(compute, draws.table_bytes());
}

absl::StatusOr<PreparedKernel> ReferenceSampledCrossEntropy(const LocalNode& node) {
  const SampledRows rows(node);
  const auto compute = [rows]<typename T>(const KernelArguments& a) {
    T* const corrections = Scratch<T>(a);
    rows.Correct(a, corrections);
    double sum = 0;
    for (int64_t i = 0; i < rows.rows; ++i) sum += static_cast<double>(rows.Loss(a, corrections, i));
    *Out<T>(a, 0) = static_cast<T>(sum / rows.weights.divisor);
  };
  return PreparedFloating(node.outputs[0].dtype, compute, rows.correction_bytes<double>());
}

absl::StatusOr<PreparedKernel> ReferenceSampledCrossEntropyGrad(const LocalNode& node) {
  const SampledRows rows(node);
  const auto compute = [rows]<typename T>(const KernelArguments& a) {
    T* const corrections = Scratch<T>(a);
    rows.Correct(a, corrections);
    for (int64_t i = 0; i < rows.rows; ++i) rows.Gradient(a, corrections, i);
  };
  return PreparedFloating(node.outputs[0].dtype, compute, rows.correction_bytes<double>());
}

}  // namespace partita
