// The sum of the parts that arrive in halo_exchange_adjoint: boxes of one tensor, each an input of its own, added where
// they lie in the output's box. What lies outside of it (a margin, a trimmed row) is dropped; elements without a part
// are zero.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/forms/op_builder.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {
namespace {

// Calls add(index in part, index in whole, length) for the runs of the last dimension that the two boxes share.
template <typename F>
void ForEveryRun(const Box& part, const Box& whole, const Box& common, const F& add) {
  const size_t rank = common.size.size();
  if (common.empty()) return;
  std::array<int64_t, kMaxRank> index{};
  while (true) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t at = common.offset[d] + index[d];
      from = from * part.size[d] + at - part.offset[d];
      to = to * whole.size[d] + at - whole.offset[d];
    }
    add(from, to, common.size[rank - 1]);
    size_t d = rank - 1;
    while (d-- > 0) {
      if (++index[d] < common.size[d]) break;
      index[d] = 0;
    }
    if (d >= rank) return;  // wrapped around: all dimensions are done
  }
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceHaloExchangeAdjoint(const LocalNode& node) {
  const Box whole = node.outputs[0].box;
  std::vector<Box> parts, common;
  for (const std::optional<LocalTensor>& input : node.inputs) {
    parts.push_back(input->box);
    common.push_back(Intersect(input->box, whole));
  }
  return PreparedFloating(node.outputs[0].dtype, [whole, parts, common]<typename T>(const KernelArguments& a) {
    T* const sum = Out<T>(a, 0);
    std::fill(sum, sum + whole.elements(), T(0));
    for (size_t i = 0; i < parts.size(); ++i) {
      const T* const part = In<T>(a, i);
      ForEveryRun(parts[i], whole, common[i], [&](int64_t from, int64_t to, int64_t length) {
        for (int64_t e = 0; e < length; ++e) sum[to + e] += part[from + e];
      });
    }
  });
}

}  // namespace partita
