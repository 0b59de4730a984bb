// A convolution with groups and its input gradient: threads share the rows of what is made.
#include "ops/host/grouped/convolution.h"

#include <algorithm>
#include <vector>

#include "ops/functors/epilogue.h"
#include "ops/host/grouped/filters.h"
#include "ops/host/grouped/taps.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

// Images that are made of others, row by row.
class MadeImages {
 public:
  static MadeImages Outputs(const Convolution& conv) {
    return {
        conv, conv.images.out_h, conv.x, conv.y, {OutputTaps(RowsOf(conv), conv)}, {OutputTaps(ColumnsOf(conv), conv)}};
  }
  static MadeImages InputGradients(const Convolution& conv) {
    return {conv, conv.images.h, conv.y, conv.x, SeenTaps(RowsOf(conv), conv), SeenTaps(ColumnsOf(conv), conv)};
  }

  int64_t rows() const { return samples_ * rows_; }

  template <typename T>
  bool HaveLoops(const GroupLoops<T>& loops) const {
    return std::ranges::all_of(column_taps_, [&](const TapColumns& taps) { return loops.row_maker(taps) != nullptr; });
  }

  template <typename T>
  void MakeRow(int64_t index, const T* images, const Compute<T>* filters, const GroupEpilogue<T>& epilogue,
               const GroupLoops<T>& loops, T* made) const {
    const int64_t n = index / rows_, row = index % rows_, kinds = static_cast<int64_t>(row_taps_.size());
    const auto pixel = [&](int64_t seen) { return images + from_.At(n, seen, 0) * channels_; };
    TapRow<T> taps[kMostTapRows];
    const int64_t count = FindRows(row_taps_[row % kinds], row / kinds, kernel_w_, pixel, taps);
    for (size_t kind = 0; kind < column_taps_.size(); ++kind) {
      const TapColumns& columns = column_taps_[kind];
      loops.row_maker(columns)(columns, {taps, static_cast<size_t>(count)}, filters, epilogue,
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
absl::StatusOr<PreparedKernel> Prepare(DType dtype, const Convolution& conv, const MadeImages& images,
                                       const FilterLayout& layout, bool relu, size_t vectors) {
  const auto has = [&]<typename T>() { return images.HaveLoops(*GroupLoopsOfThisMachine<T>()[vectors]); };
  RETURN_IF_ERROR(RequireLoops(dtype, has));
  const auto compute = [=]<typename T>(const KernelArguments& a) {
    Compute<T>* const filters = Scratch<Compute<T>>(a);
    layout.ForEach(
        [&, given = In<T>(a, 1)](int64_t i, int64_t at) { filters[at] = static_cast<Compute<T>>(given[i]); });
    const GroupEpilogue<T> epilogue{In<Compute<T>>(a, 2), relu};
    const GroupLoops<T>& loops = *GroupLoopsOfThisMachine<T>()[vectors];
    ParallelFor(images.rows(), GroupedWork(conv),
                [&](int64_t row) { images.MakeRow(row, In<T>(a, 0), filters, epilogue, loops, Out<T>(a, 0)); });
  };
  return PreparedGrouped(dtype, compute, conv.weights());
}

}  // namespace

absl::StatusOr<PreparedKernel> PrepareGroupedConv2d(const LocalNode& node, size_t vectors) {
  const Convolution conv = ForwardConvolution(node);
  RETURN_IF_ERROR(RequireGrouped(conv));
  const NodeEpilogue epilogue = EpilogueOf(node);
  const bool relu = epilogue.activation_name() == Relu::Name();
  if (epilogue.activation != kNoActivation && !relu) {
    return InvalidArgument("the activation is {}, allowed is relu", epilogue.activation_name());
  }
  return Prepare(node.outputs[0].dtype, conv, MadeImages::Outputs(conv), FilterLayout(conv, false), relu, vectors);
}

absl::StatusOr<PreparedKernel> PrepareGroupedConv2dInputGrad(const LocalNode& node, size_t vectors) {
  const Convolution conv = InputGradConvolution(node);
  RETURN_IF_ERROR(RequireGrouped(conv));
  return Prepare(node.outputs[0].dtype, conv, MadeImages::InputGradients(conv), FilterLayout(conv, true),
                 /*relu=*/false, vectors);
}

}  // namespace partita
