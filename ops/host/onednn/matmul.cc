// matmul and batch_matmul on oneDNN; a transposed operand is one with its strides exchanged.
#include <algorithm>
#include <memory>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/onednn/onednn_program.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// Matrices [rows, columns], each stored row by row, or column by column if `transposed`. Where one of them serves all
// products of a dimension, that has size 1.
dnnl::memory::desc Matrices(const BatchPlaces& places, int64_t BatchPlaces::Dimension::*step, int64_t rows,
                            int64_t columns, bool transposed, dnnl::memory::data_type type) {
  dnnl::memory::dims sizes, strides;
  for (int d = 0; d < places.rank; ++d) {
    const BatchPlaces::Dimension& dimension = places.dimensions[d];
    sizes.push_back(dimension.*step == 0 ? 1 : dimension.size);
    strides.push_back(std::max<int64_t>(1, dimension.*step) * rows * columns);
  }
  sizes.insert(sizes.end(), {rows, columns});
  strides.insert(strides.end(), {transposed ? 1 : columns, transposed ? rows : 1});
  return dnnl::memory::desc(sizes, type, strides);
}

// Fewer products than these, some 10 microseconds, do not repay a second thread.
constexpr int64_t kParallelProducts = 1 << 20;

absl::StatusOr<PreparedKernel> Multiply(const LocalNode& node, const ProductBatch& batch) {
  ASSIGN_OR_RETURN(const dnnl::memory::data_type type, OneDnnType(node.outputs[0].dtype));
  if (Input(node, 0).dtype != node.outputs[0].dtype) return InvalidArgument("y is wider than x");
  const ProductSizes& each = batch.each;
  const int64_t products = batch.places.count() * each.m * each.n * each.k;
  if (products == 0) return InvalidArgument("the block is empty");
  const NodeEpilogue epilogue = EpilogueOf(node);
  const int threads = products < kParallelProducts ? 1 : 0;
  const ThreadScope scope(threads);  // the primitive remembers for how many threads it was made
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    ASSIGN_OR_RETURN(const dnnl::primitive_attr attributes, UserScratchpadWith(epilogue));
    using Dimension = BatchPlaces::Dimension;
    const BatchPlaces& places = batch.places;
    const dnnl::memory::desc x = Matrices(places, &Dimension::x_step, each.m, each.k, each.transpose_x, type),
                             w = Matrices(places, &Dimension::y_step, each.k, each.n, each.transpose_w, type),
                             y = Matrices(places, &Dimension::z_step, each.m, each.n, false, type);
    const dnnl::memory::desc bias =
        epilogue.bias ? Matrices({}, &Dimension::x_step, 1, each.n, false, dnnl::memory::data_type::f32) : NoMemory();
    const dnnl::matmul::primitive_desc descriptor(OneDnnEngine(), x, w, bias, y, attributes);
    const auto bind = [descriptor, bias, threads](const KernelArguments& a) {
      return Guarded([&]() -> absl::StatusOr<Computation> {
        auto program = std::make_shared<OneDnnProgram>();
        const ThreadScope scope(threads);
        program->Add(dnnl::matmul(descriptor),
                     {{DNNL_ARG_SRC, program->Memory(descriptor.src_desc(), const_cast<void*>(a.inputs[0]))},
                      {DNNL_ARG_WEIGHTS, program->Memory(descriptor.weights_desc(), const_cast<void*>(a.inputs[1]))},
                      {DNNL_ARG_BIAS, program->Memory(bias, const_cast<void*>(In<void>(a, 2)))},
                      {DNNL_ARG_DST, program->Memory(descriptor.dst_desc(), a.outputs[0])},
                      {DNNL_ARG_SCRATCHPAD, program->Memory(descriptor.scratchpad_desc(), a.workspace)}},
                     threads);
        return Computation([program] { return program->Run(); });
      });
    };
    return PreparedKernel{AlignUp(static_cast<int64_t>(descriptor.scratchpad_desc().get_size())), bind};
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> OneDnnMatMul(const LocalNode& node) {
  return Multiply(node, {{}, MakeProductSizes(node)});
}

absl::StatusOr<PreparedKernel> OneDnnBatchMatMul(const LocalNode& node) {
  return Multiply(node, MakeProductBatch(node));
}

}  // namespace partita
