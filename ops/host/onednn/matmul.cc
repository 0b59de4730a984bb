// matmul and batch_matmul on oneDNN; a transposed operand is one with its strides exchanged.
#include <memory>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/onednn/onednn_program.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// `count` matrices [rows, columns] one behind the other, each stored row by row, or column by column if `transposed`.
dnnl::memory::desc Matrices(int64_t count, int64_t rows, int64_t columns, bool transposed,
                            dnnl::memory::data_type type) {
  dnnl::memory::dims sizes = {rows, columns};
  dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  if (count > 1) {
    sizes.insert(sizes.begin(), count);
    strides.insert(strides.begin(), rows * columns);
  }
  return dnnl::memory::desc(sizes, type, strides);
}

// Fewer products than these, some 10 microseconds, do not repay a second thread.
constexpr int64_t kParallelProducts = 1 << 20;

absl::StatusOr<PreparedKernel> Multiply(const LocalNode& node, const ProductBatch& batch) {
  ASSIGN_OR_RETURN(const dnnl::memory::data_type type, OneDnnType(node.outputs[0].dtype));
  if (Input(node, 0).dtype != node.outputs[0].dtype) return InvalidArgument("y is wider than x");
  const ProductSizes& each = batch.each;
  const int64_t products = batch.count * each.m * each.n * each.k;
  if (products == 0) return InvalidArgument("the block is empty");
  const NodeEpilogue epilogue = EpilogueOf(node);
  const int threads = products < kParallelProducts ? 1 : 0;
  const ThreadScope scope(threads);  // the primitive remembers for how many threads it was made
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    ASSIGN_OR_RETURN(const dnnl::primitive_attr attributes, UserScratchpadWith(epilogue));
    const dnnl::memory::desc x = Matrices(batch.count, each.m, each.k, each.transpose_x, type),
                             w = Matrices(batch.count, each.k, each.n, each.transpose_w, type),
                             y = Matrices(batch.count, each.m, each.n, false, type);
    const dnnl::memory::desc bias =
        epilogue.bias ? Matrices(1, 1, each.n, false, dnnl::memory::data_type::f32) : NoMemory();
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
  return Multiply(node, {1, MakeProductSizes(node)});
}

absl::StatusOr<PreparedKernel> OneDnnBatchMatMul(const LocalNode& node) {
  return Multiply(node, MakeProductBatch(node));
}

}  // namespace partita
