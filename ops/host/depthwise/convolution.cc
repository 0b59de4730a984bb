// A depthwise convolution and its input gradient: threads share the rows of what is made.
#include "ops/host/depthwise/convolution.h"

#include <vector>

#include "ops/functors/epilogue.h"
#include "ops/host/depthwise/filters.h"
#include "ops/host/depthwise/taps.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

// Images that are made of others, row by row.
class MadeImages {
 public:
  static MadeImages Outputs(const Convolution& conv) {
    const int64_t c = conv.images.c;
    return {conv, conv.images.out_h, conv.x, conv.y, {OutputTaps(RowsOf(conv), c)}, {OutputTaps(ColumnsOf(conv), c)}};
  }
  static MadeImages InputGradients(const Convolution& conv) {
    const int64_t c = conv.images.c;
    return {conv, conv.images.h, conv.y, conv.x, SeenTaps(RowsOf(conv), c), SeenTaps(ColumnsOf(conv), c)};
  }

  int64_t rows() const { return samples_ * rows_; }

  template <typename T>
  void MakeRow(int64_t index, const T* images, const Compute<T>* filters, const DepthwiseEpilogue<T>& epilogue,
               const DepthwiseLoops<T>& loops, T* made) const {
    const int64_t n = index / rows_, row = index % rows_, kinds = static_cast<int64_t>(row_taps_.size());
    const auto pixel = [&](int64_t seen) { return images + from_.At(n, seen, 0) * channels_; };
    TapRow<T> taps[kMostTapRows];
    const int64_t count = FindRows(row_taps_[row % kinds], row / kinds, kernel_w_, pixel, taps);
    for (size_t kind = 0; kind < column_taps_.size(); ++kind) {
      loops.make_row(column_taps_[kind], {taps, static_cast<size_t>(count)}, filters, epilogue,
                     made + to_.At(n, row, static_cast<int64_t>(kind)) * channels_);
    }
  }

 private:
  MadeImages(const Convolution& conv, int64_t rows, const PixelMap& from, const PixelMap& to,
             std::vector<TapColumns> row_taps, std::vector<TapColumns> column_taps)
      : samples_(conv.images.n),
        rows_(rows),
        channels_(conv.images.c),
        kernel_w_(conv.window.kernel_w),
        from_(from),
        to_(to),
        row_taps_(std::move(row_taps)),
        column_taps_(std::move(column_taps)) {}

  int64_t samples_, rows_, channels_, kernel_w_;
  PixelMap from_, to_;
  std::vector<TapColumns> row_taps_, column_taps_;  // by the remainder of a row or column
};

// `images` are the first input, filters the second.
absl::StatusOr<PreparedKernel> Prepare(DType dtype, const Convolution& conv, const MadeImages& images, bool relu,
                                       size_t vectors) {
  const auto compute = [=]<typename T>(const KernelArguments& a) {
    Compute<T>* const filters = Scratch<Compute<T>>(a);
    LayOutFilters(conv, In<T>(a, 1), filters);
    const DepthwiseEpilogue<T> epilogue{In<Compute<T>>(a, 2), relu};
    const DepthwiseLoops<T>& loops = *DepthwiseLoopsOfThisMachine<T>()[vectors];
    ParallelFor(images.rows(), DepthwiseWork(conv),
                [&](int64_t row) { images.MakeRow(row, In<T>(a, 0), filters, epilogue, loops, Out<T>(a, 0)); });
  };
  return PreparedDepthwise(dtype, compute, conv.weights());
}

}  // namespace

absl::StatusOr<PreparedKernel> PrepareDepthwiseConv2d(const LocalNode& node, size_t vectors) {
  const Convolution conv = ForwardConvolution(node);
  RETURN_IF_ERROR(RequireDepthwise(conv));
  const NodeEpilogue epilogue = EpilogueOf(node);
  const bool relu = epilogue.activation_name() == Relu::Name();
  if (epilogue.activation != kNoActivation && !relu) {
    return InvalidArgument("the activation is {}, allowed is relu", epilogue.activation_name());
  }
  return Prepare(node.outputs[0].dtype, conv, MadeImages::Outputs(conv), relu, vectors);
}

absl::StatusOr<PreparedKernel> PrepareDepthwiseConv2dInputGrad(const LocalNode& node, size_t vectors) {
  const Convolution conv = InputGradConvolution(node);
  RETURN_IF_ERROR(RequireDepthwise(conv));
  return Prepare(node.outputs[0].dtype, conv, MadeImages::InputGradients(conv), /*relu=*/false, vectors);
}

}  // namespace partita
