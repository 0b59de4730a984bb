// Reference kernels of ops that only move elements, of any dtype.
#include <cstring>

#include "ops/host/reference/reference_kernels.h"

namespace partita {
namespace {

// Calls f(index into `outer`, index into `inner`) for every element of `inner` that lies in `outer` from `begin` on.
template <typename F>
void ForBox(const Shape& outer, const Shape& begin, const Shape& inner, const F& f) {
  const int64_t elements = Elements(inner);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i, index = 0, stride = 1;
    for (int d = static_cast<int>(inner.size()) - 1; d >= 0; --d) {
      index += stride * (begin[d] + rest % inner[d]);
      rest /= inner[d];
      stride *= outer[d];
    }
    f(index, i);
  }
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceReshape(const LocalNode& node) {
  const int64_t bytes = node.outputs[0].bytes();
  return Prepared([bytes](const KernelArguments& a) {
    if (bytes > 0 && a.outputs[0] != a.inputs[0]) std::memcpy(a.outputs[0], a.inputs[0], bytes);
  });
}

absl::StatusOr<PreparedKernel> ReferenceConcat(const LocalNode& node) {
  struct Piece {
    Shape shape;
    Shape begin;  // of its box in the output
  };
  const size_t axis = node.attributes.Int("axis");
  const int64_t size = SizeOf(node.outputs[0].dtype);
  std::vector<Piece> parts;
  Shape begin(node.outputs[0].shape().size(), 0);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    parts.push_back({InputShape(node, k), begin});
    begin[axis] += parts[k].shape[axis];
  }
  return Prepared([=, whole = node.outputs[0].shape()](const KernelArguments& a) {
    for (size_t k = 0; k < parts.size(); ++k) {
      ForBox(whole, parts[k].begin, parts[k].shape, [&](int64_t to, int64_t from) {
        std::memcpy(Out<char>(a, 0) + to * size, In<char>(a, k) + from * size, size);
      });
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceTranspose(const LocalNode& node) {
  const int64_t size = SizeOf(node.outputs[0].dtype);
  const Shape x = InputShape(node, 0), y = node.outputs[0].shape();
  Shape steps(x.size(), 1);  // of x's dimensions
  for (size_t d = x.size() - 1; d-- > 0;) steps[d] = steps[d + 1] * x[d + 1];
  return Prepared([=, permutation = node.attributes.Ints("permutation")](const KernelArguments& a) {
    for (int64_t to = 0; to < Elements(y); ++to) {
      int64_t rest = to, from = 0;
      for (size_t d = y.size(); d-- > 0;) {
        from += rest % y[d] * steps[permutation[d]];
        rest /= y[d];
      }
      std::memcpy(Out<char>(a, 0) + to * size, In<char>(a, 0) + from * size, size);
    }
  });
}

// A dimension that is split is taken whole, so `begin` is the same for all ranks.
absl::StatusOr<PreparedKernel> ReferenceSlice(const LocalNode& node) {
  const int64_t size = SizeOf(node.outputs[0].dtype);
  return Prepared([size, whole = InputShape(node, 0), begin = node.attributes.Ints("begin"),
                   part = node.outputs[0].shape()](const KernelArguments& a) {
    ForBox(whole, begin, part, [&](int64_t from, int64_t to) {
      std::memcpy(Out<char>(a, 0) + to * size, In<char>(a, 0) + from * size, size);
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceSliceGrad(const LocalNode& node) {
  const int64_t size = SizeOf(node.outputs[0].dtype), bytes = node.outputs[0].bytes();
  return Prepared([size, bytes, whole = node.outputs[0].shape(), begin = node.attributes.Ints("begin"),
                   part = InputShape(node, 0)](const KernelArguments& a) {
    if (bytes > 0) std::memset(a.outputs[0], 0, bytes);
    ForBox(whole, begin, part, [&](int64_t to, int64_t from) {
      std::memcpy(Out<char>(a, 0) + to * size, In<char>(a, 0) + from * size, size);
    });
  });
}

}  // namespace partita
