// Ops of a node that only move elements, of any dtype: boxes of one tensor into boxes of another.
#include "ops/cuda/kernel/boxes.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/transposition.h"

namespace partita {
namespace {

using Boxes = std::vector<launch::StridedBox>;

// `part` lies in `whole` from `begin` on; copies between the two, whose addresses the launch adds.
BoxCopy PartOf(const Shape& whole, const Shape& begin, const Shape& part, DType dtype, bool into) {
  BoxCopy copy;
  copy.element_bytes = SizeOf(dtype);
  copy.size = part;
  const Shape zero(part.size(), 0);
  copy.from_shape = into ? part : whole;
  copy.to_shape = into ? whole : part;
  copy.from_start = into ? zero : begin;
  copy.to_start = into ? begin : zero;
  return copy;
}

// Of single elements.
launch::TurnedElements TurnedOf(const Transposition& whole, int64_t element_bytes) {
  launch::TurnedElements turned;
  turned.element_bytes = element_bytes;
  turned.columns = whole.columns.size;
  turned.rows = whole.rows.size;
  turned.x_step = whole.rows.x_step;
  turned.y_step = whole.columns.y_step;
  for (size_t d = 0; d < whole.outer.size(); ++d) {
    turned.outer[d] = {whole.outer[d].size, whole.outer[d].x_step, whole.outer[d].y_step};
  }
  return turned;
}

// Of cells of several elements, which are runs of bytes; without addresses.
launch::StridedBox RunsOf(const Transposition& whole, int64_t element_bytes) {
  launch::StridedBox box;
  box.run_bytes = whole.cell * element_bytes;
  const auto add = [&box](const Transposition::Dimension& d) {
    box.size[box.dimensions] = d.size;
    box.from_stride[box.dimensions] = d.x_step * box.run_bytes;
    box.to_stride[box.dimensions++] = d.y_step * box.run_bytes;
  };
  add(whole.rows);
  add(whole.columns);
  for (const Transposition::Dimension& d : whole.outer) add(d);
  return box;
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaTranspose(const LocalNode& node) {
  const LocalTensor& y = node.outputs[0];
  const int64_t element_bytes = SizeOf(y.dtype);
  const Transposition whole = MakeTransposition(InputShape(node, 0), node.attributes.Ints("permutation"));
  if (whole.is_copy() || y.elements() == 0) {
    return OwnKernel([bytes = y.bytes()](const KernelArguments& a, CudaQueue q) {
      return launch::CopyRun(Out(a, 0), In(a, 0), bytes, q);
    });
  }
  if (whole.cell == 1) {
    return OwnKernel([turned = TurnedOf(whole, element_bytes)](const KernelArguments& a, CudaQueue q) {
      return launch::Turn(turned, In(a, 0), Out(a, 0), q);
    });
  }
  return OwnKernel([runs = RunsOf(whole, element_bytes)](const KernelArguments& a, CudaQueue q) {
    launch::StridedBox box = runs;
    box.from = static_cast<const char*>(In(a, 0));
    box.to = static_cast<char*>(Out(a, 0));
    return launch::Copy(&box, 1, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaReshape(const LocalNode& node) {
  return OwnKernel([bytes = node.outputs[0].bytes()](const KernelArguments& a, CudaQueue q) {
    return launch::CopyRun(Out(a, 0), In(a, 0), bytes, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaConcat(const LocalNode& node) {
  const size_t axis = node.attributes.Int("axis");
  const Shape& whole = node.outputs[0].shape();
  std::vector<BoxCopy> parts;
  Shape begin(whole.size(), 0);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    parts.push_back(PartOf(whole, begin, InputShape(node, k), node.outputs[0].dtype, true));
    RETURN_IF_ERROR(CheckBox(parts.back()));
    begin[axis] += InputShape(node, k)[axis];
  }
  return OwnKernel([parts](const KernelArguments& a, CudaQueue q) {
    Boxes boxes;
    for (size_t k = 0; k < parts.size(); ++k) boxes.push_back(MakeStridedBox(parts[k], In(a, k), Out(a, 0)));
    return launch::Copy(boxes.data(), static_cast<int>(boxes.size()), q);
  });
}

// A dimension that is split is taken whole, so `begin` is the same for all ranks.
absl::StatusOr<PreparedCudaKernel> CudaSlice(const LocalNode& node) {
  const BoxCopy part =
      PartOf(InputShape(node, 0), node.attributes.Ints("begin"), node.outputs[0].shape(), node.outputs[0].dtype, false);
  RETURN_IF_ERROR(CheckBox(part));
  return OwnKernel([part](const KernelArguments& a, CudaQueue q) {
    const launch::StridedBox box = MakeStridedBox(part, In(a, 0), Out(a, 0));
    return launch::Copy(&box, 1, q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSliceGrad(const LocalNode& node) {
  const BoxCopy part =
      PartOf(node.outputs[0].shape(), node.attributes.Ints("begin"), InputShape(node, 0), node.outputs[0].dtype, true);
  RETURN_IF_ERROR(CheckBox(part));
  return OwnKernel([part, bytes = node.outputs[0].bytes()](const KernelArguments& a, CudaQueue q) {
    if (const LaunchError error = launch::Zero(Out(a, 0), bytes, q); error != kLaunched) return error;
    const launch::StridedBox box = MakeStridedBox(part, In(a, 0), Out(a, 0));
    return launch::Copy(&box, 1, q);
  });
}

}  // namespace partita
