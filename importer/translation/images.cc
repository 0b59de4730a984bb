// Images that become larger or smaller: resizing, transposed convolutions, pools to a given size.
#include <algorithm>
#include <cmath>
#include <vector>

#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// Means of windows that cover a dimension, all as long or not.
absl::Status AdaptivePool(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  if (x.rank() < 3 || x.rank() > 5 || !translator.IsKnown(name))
    return InvalidArgument("its input has {} dimensions; expected 3 to 5", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  const Shape shape = translator.ShapeOf(x.node);
  IntList kernel;
  for (size_t d = 2; d < x.rank(); ++d) {
    const int64_t size = shape[d - 1], made = translator.SizeOf(name, d).value;
    if (made < 1) return InvalidArgument("{} elements become {}", size, made);
    if (x.rank() == 4 && size % made == 0) {
      kernel.push_back(size / made);
      continue;
    }
    kernel.push_back(1);
    std::vector<double> matrix(static_cast<size_t>(made * size), 0);
    for (int64_t i = 0; i < made; ++i) {
      const int64_t begin = i * size / made, end = ((i + 1) * size + made - 1) / made;
      for (int64_t k = begin; k < end; ++k) {
        matrix[static_cast<size_t>(i * size + k)] = 1 / static_cast<double>(end - begin);
      }
    }
    ASSIGN_OR_RETURN(x, Mixed(translator, x, static_cast<int>(d), matrix, name + ".windows"));
  }
  if (std::ranges::any_of(kernel, [](int64_t size) { return size != 1; })) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "average_pool", {x.node}, {{"kernel", kernel}, {"stride", kernel}}));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// As a sum over the depth of the kernel: each of its slices is a convolution of all depths of the input, as images.
absl::Status Convolution3d(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  if (x.rank() != 5) return InvalidArgument("its input has {} dimensions; expected 5, a batch of volumes", x.rank());
  if (const auto found = node.arguments.find("padding");
      found != node.arguments.end() && std::holds_alternative<std::string>(found->second)) {
    return InvalidArgument("padding is a word");
  }
  const Order channels_last = {0, 2, 3, 4, 1};
  ASSIGN_OR_RETURN(x, translator.In(x, channels_last, name));
  ASSIGN_OR_RETURN(const Imported w, translator.GetParameter(weight, channels_last, Beginning::kWeights));
  const IntList stride = RepeatedOf(node, "stride", {1}, 3), padding = PaddingAround(node, 3),
                dilation = RepeatedOf(node, "dilation", {1}, 3);
  const Shape shape = translator.ShapeOf(x.node), kernel = translator.ShapeOf(w.node);
  const int64_t depth = shape[1], made = translator.SizeOf(name, 2).value;
  std::string sum;
  for (int64_t k = 0; k < kernel[1]; ++k) {
    // The depths that this slice meets; zeros where that is padding.
    std::vector<double> depths(static_cast<size_t>(made * depth), 0);
    for (int64_t i = 0; i < made; ++i) {
      const int64_t at = i * stride[0] + k * dilation[0] - padding[0];
      if (at >= 0 && at < depth) depths[static_cast<size_t>(i * depth + at)] = 1;
    }
    ASSIGN_OR_RETURN(const Imported met, Mixed(translator, x, 2, depths, name + ".depths"));
    ASSIGN_OR_RETURN(const std::string images, translator.Add(name + ".images", "reshape", {met.node},
                                                              {{"shape", Shape{-1, shape[2], shape[3], shape[4]}}}));
    ASSIGN_OR_RETURN(const Imported slice, Cut(translator, w, 2, k, 1, name + ".slice"));
    ASSIGN_OR_RETURN(const std::string weights,
                     translator.Add(name + ".kernel", "reshape", {slice.node},
                                    {{"shape", Shape{kernel[0], kernel[2], kernel[3], kernel[4]}}}));
    ASSIGN_OR_RETURN(std::string y,
                     translator.Add(name + ".conv2d", "conv2d", {images, weights},
                                    {{"stride", IntList{stride[1], stride[2]}},
                                     {"padding", IntList{padding[2], padding[3], padding[4], padding[5]}},
                                     {"dilation", IntList{dilation[1], dilation[2]}},
                                     {"groups", IntegerOf(node, "groups", 1)}}));
    if (!sum.empty()) {
      ASSIGN_OR_RETURN(y, translator.Add(name + ".sum", "add", {sum, y}));
    }
    sum = std::move(y);
  }
  if (const std::string bias = OptionalTensorOf(node, "bias"); !bias.empty()) {
    ASSIGN_OR_RETURN(const Imported b, translator.GetParameter(bias, {0}, Beginning::kZeros));
    ASSIGN_OR_RETURN(sum, translator.Add(name + ".bias", "bias", {sum, b.node}));
  }
  const Shape images = translator.ShapeOf(sum);
  ASSIGN_OR_RETURN(
      sum, translator.Add(name, "reshape", {sum}, {{"shape", Shape{-1, made, images[1], images[2], images[3]}}}));
  translator.Bind(name, {std::move(sum), channels_last});
  return absl::OkStatus();
}

// Depths first, then rows and columns: the largest of the largest.
absl::Status MaxPool3d(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  if (x.rank() != 5) return InvalidArgument("its input has {} dimensions; expected 5, a batch of volumes", x.rank());
  const Order channels_last = {0, 2, 3, 4, 1};
  ASSIGN_OR_RETURN(x, translator.In(x, channels_last, name));
  const IntList kernel = RepeatedOf(node, "kernel_size", {}, 3), padding = RepeatedOf(node, "padding", {0}, 3);
  IntList stride = RepeatedOf(node, "stride", kernel, 3);
  if (stride.empty()) stride = kernel;
  if (kernel.size() != 3 || SwitchOf(node, "ceil_mode", false)) return InvalidArgument("a pool with ceil_mode");
  for (const int64_t dilation : RepeatedOf(node, "dilation", {1}, 3)) {
    if (dilation != 1) return InvalidArgument("a pool with dilation {}", dilation);
  }
  const Shape shape = translator.ShapeOf(x.node);
  const std::vector<Size>& result = translator.SizesOf(name);
  if (result.size() != 5) return InvalidArgument("its result has {} dimensions; expected 5", result.size());
  const int64_t channels = shape[4], made = result[2].value;
  std::string y = x.node;
  if (kernel[0] > 1 || stride[0] > 1) {
    ASSIGN_OR_RETURN(y, translator.Add(name + ".depths", "reshape", {y},
                                       {{"shape", Shape{-1, shape[1], shape[2] * shape[3], channels}}}));
    ASSIGN_OR_RETURN(y, translator.Add(name + ".deep", "max_pool", {y},
                                       {{"kernel", IntList{kernel[0], 1}},
                                        {"stride", IntList{stride[0], 1}},
                                        {"padding", IntList{padding[0], padding[0], 0, 0}}}));
  }
  ASSIGN_OR_RETURN(
      y, translator.Add(name + ".images", "reshape", {y}, {{"shape", Shape{-1, shape[2], shape[3], channels}}}));
  ASSIGN_OR_RETURN(y, translator.Add(name + ".flat", "max_pool", {y},
                                     {{"kernel", IntList{kernel[1], kernel[2]}},
                                      {"stride", IntList{stride[1], stride[2]}},
                                      {"padding", IntList{padding[1], padding[1], padding[2], padding[2]}}}));
  ASSIGN_OR_RETURN(y, translator.Add(name, "reshape", {y},
                                     {{"shape", Shape{-1, made, result[3].value, result[4].value, channels}}}));
  translator.Bind(name, {std::move(y), channels_last});
  return absl::OkStatus();
}

// How a dimension of `size` elements becomes one of `made`, as PyTorch computes it: each new element is a sum of old
// ones. `scale` is that of the caller, 0: the ratio of the sizes.
class Resizing {
 public:
  Resizing(int64_t size, int64_t made, double scale, bool align_corners)
      : size_(size), made_(made), align_(align_corners), matrix_(static_cast<size_t>(size * made), 0) {
    if (align_) {
      step_ = made > 1 ? static_cast<double>(size - 1) / static_cast<double>(made - 1) : 0;
    } else {
      step_ = scale > 0 ? 1 / scale : static_cast<double>(size) / static_cast<double>(made);
    }
  }

  std::vector<double> Nearest(bool exact) && {
    for (int64_t i = 0; i < made_; ++i) {
      const double at = (static_cast<double>(i) + (exact ? 0.5 : 0)) * step_;
      Add(i, static_cast<int64_t>(std::floor(at)), 1);
    }
    return std::move(matrix_);
  }

  std::vector<double> Linear() && {
    for (int64_t i = 0; i < made_; ++i) {
      const double at = std::max(0.0, Place(i));
      const auto below = std::min<int64_t>(static_cast<int64_t>(at), size_ - 1);
      const double weight = at - static_cast<double>(below);
      Add(i, below, 1 - weight);
      Add(i, below + 1, weight);
    }
    return std::move(matrix_);
  }

  // Keys' cubic convolution with a = -0.75.
  std::vector<double> Cubic() && {
    constexpr double kA = -0.75;
    for (int64_t i = 0; i < made_; ++i) {
      const double at = Place(i), below = std::floor(at);
      for (int k = -1; k <= 2; ++k) {
        const double x = std::abs(at - below - k);
        const double weight =
            x <= 1 ? ((kA + 2) * x - (kA + 3)) * x * x + 1 : ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
        Add(i, static_cast<int64_t>(below) + k, weight);
      }
    }
    return std::move(matrix_);
  }

 private:
  double Place(int64_t i) const {
    const auto at = static_cast<double>(i);
    return align_ ? step_ * at : step_ * (at + 0.5) - 0.5;
  }
  void Add(int64_t row, int64_t column, double weight) {
    matrix_[static_cast<size_t>(row * size_ + std::clamp<int64_t>(column, 0, size_ - 1))] += weight;
  }

  int64_t size_, made_;
  bool align_;
  double step_ = 1;
  std::vector<double> matrix_;
};

absl::Status Resize(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, node.arguments.contains("self") ? "self" : "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  if (x.rank() < 3 || x.rank() > 5 || !translator.IsKnown(name)) {
    return InvalidArgument("its input has {} dimensions; expected 3 to 5", x.rank());
  }
  if (op.find("_aa") != std::string::npos) return InvalidArgument("resizing that is smoothed (antialias)");
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  const auto factors = node.arguments.find("scale_factors");
  const auto* const scales =
      factors == node.arguments.end() ? nullptr : std::get_if<std::vector<double>>(&factors->second);
  constexpr const char* kScales[] = {"scales_d", "scales_h", "scales_w"};
  for (size_t d = 2; d < x.rank(); ++d) {
    const int64_t size = translator.SizeOf(self, d).value, made = translator.SizeOf(name, d).value;
    const char* const own = x.rank() == 3 ? "scales" : kScales[d + 3 - x.rank()];
    double scale = NumberOf(node, own, 0);
    if (scales != nullptr && scales->size() == x.rank() - 2) scale = (*scales)[d - 2];
    if (size < 1 || made < 1 || size * made > (int64_t{1} << 24))
      return InvalidArgument("{} elements become {}", size, made);
    Resizing resizing(size, made, scale, SwitchOf(node, "align_corners", false));
    std::vector<double> matrix;
    if (op.find("nearest") != std::string::npos) {
      matrix = std::move(resizing).Nearest(op.find("exact") != std::string::npos);
    } else if (op.find("cubic") != std::string::npos) {
      matrix = std::move(resizing).Cubic();
    } else {
      matrix = std::move(resizing).Linear();
    }
    bool same = size == made;
    for (int64_t i = 0; same && i < size; ++i) same = matrix[static_cast<size_t>(i * size + i)] == 1;
    if (same) continue;
    ASSIGN_OR_RETURN(x, Mixed(translator, x, static_cast<int>(d), matrix, name));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

struct Transposed {
  IntList stride, padding, more, dilation;  // of each side; `more`: the output padding
};

// Of windows that do not overlap, which is how networks double their sides: each element becomes a block of its own, by
// one product.
absl::StatusOr<std::string> SideBySide(Translator& translator, const Imported& x, const Imported& w,
                                       const std::string& name) {
  const Shape image = translator.ShapeOf(x.node), window = translator.ShapeOf(w.node);
  const bool is_sequence = image.size() == 3;
  const int64_t rows = window[1], columns = is_sequence ? 1 : window[2];
  const int64_t outputs = window.front(), inputs = window.back();
  const int64_t height = image[1], width = is_sequence ? 1 : image[2];
  const auto add = [&](const char* what, const char* op, const std::string& value, const Attributes& attributes) {
    return translator.Add(name + what, op, {value}, attributes);
  };
  const auto reshape = [&](const char* what, const std::string& value, const Shape& shape) {
    return add(what, "reshape", value, {{"shape", shape}});
  };
  ASSIGN_OR_RETURN(std::string kernel, reshape(".window", w.node, {outputs, rows * columns, inputs}));
  ASSIGN_OR_RETURN(kernel, add(".places", "transpose", kernel, {{"permutation", IntList{1, 0, 2}}}));
  ASSIGN_OR_RETURN(kernel, reshape(".kernel", kernel, {rows * columns * outputs, 1, 1, inputs}));
  std::string y = x.node;
  if (is_sequence) {
    ASSIGN_OR_RETURN(y, reshape(".image", y, {-1, height, 1, inputs}));
  }
  ASSIGN_OR_RETURN(y, translator.Add(name + ".conv2d", "conv2d", {y, kernel}));
  if (is_sequence) return reshape(".sequence", y, {-1, height * rows, outputs});
  ASSIGN_OR_RETURN(y, reshape(".parts", y, {-1, width, rows, columns * outputs}));
  ASSIGN_OR_RETURN(y, add(".rows", "transpose", y, {{"permutation", IntList{0, 2, 1, 3}}}));
  return reshape(".blocks", y, {-1, height * rows, width * columns, outputs});
}

// A convolution of the image, or the sequence, with zeros between its elements, and with the kernel turned around.
absl::StatusOr<std::string> SpreadOut(Translator& translator, Imported x, Imported w, Transposed sizes,
                                      const std::string& name) {
  const bool is_sequence = x.rank() == 3;
  IntList around;
  for (size_t d = 0; d < sizes.stride.size(); ++d) {
    const int dimension = static_cast<int>(d) + 2;
    const int64_t size = translator.ShapeOf(x.node)[1 + d], kernel = translator.ShapeOf(w.node)[1 + d];
    if (const int64_t stride = sizes.stride[d]; stride > 1) {
      const int64_t wide = (size - 1) * stride + 1;
      std::vector<double> matrix(static_cast<size_t>(wide * size), 0);
      for (int64_t i = 0; i < size; ++i) matrix[static_cast<size_t>(i * stride * size + i)] = 1;
      ASSIGN_OR_RETURN(x, Mixed(translator, x, dimension, matrix, name + ".spread"));
    }
    std::vector<int64_t> turned;
    for (int64_t i = kernel; i-- > 0;) turned.push_back(i);
    if (kernel > 1) {
      ASSIGN_OR_RETURN(w, Taken(translator, w, dimension, turned, name + ".kernel"));
    }
    around.push_back(sizes.dilation[d] * (kernel - 1) - sizes.padding[d]);
    around.push_back(around.back() + sizes.more[d]);
  }
  if (std::ranges::any_of(around, [](int64_t side) { return side < 0; })) {
    return InvalidArgument("a transposed convolution whose padding is larger than its kernel");
  }
  if (is_sequence) {  // an image of one column
    for (Imported* const value : {&x, &w}) {
      Shape image = translator.ShapeOf(value->node);
      image.insert(image.begin() + 2, 1);
      if (value == &x) image[0] = -1;
      ASSIGN_OR_RETURN(value->node, translator.Add(name + ".image", "reshape", {value->node}, {{"shape", image}}));
    }
    around.push_back(0);
    around.push_back(0);
    sizes.dilation.push_back(1);
  }
  ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".conv2d", "conv2d", {x.node, w.node},
                                                 {{"padding", around}, {"dilation", sizes.dilation}}));
  if (!is_sequence) return y;
  const Shape image = translator.ShapeOf(y);
  return translator.Add(name + ".sequence", "reshape", {y}, {{"shape", Shape{-1, image[1], image[3]}}});
}

absl::Status TransposedConvolution(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  const size_t sides = OpOf(node.target) == "conv_transpose1d" ? 1 : 2;
  if (x.rank() != sides + 2) return InvalidArgument("its input has {} dimensions; expected {}", x.rank(), sides + 2);
  if (IntegerOf(node, "groups", 1) != 1) return InvalidArgument("a transposed convolution with groups");
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  Order turned_around = InOrder(x.rank());
  std::rotate(turned_around.begin(), turned_around.begin() + 1, turned_around.end());
  ASSIGN_OR_RETURN(const Imported w, translator.GetParameter(weight, turned_around, Beginning::kWeights));
  const Transposed sizes = {RepeatedOf(node, "stride", {1}, sides), RepeatedOf(node, "padding", {0}, sides),
                            RepeatedOf(node, "output_padding", {0}, sides), RepeatedOf(node, "dilation", {1}, sides)};
  bool apart = true;
  for (size_t d = 0; d < sides; ++d) {
    apart = apart && sizes.stride[d] == translator.ShapeOf(w.node)[1 + d] && sizes.padding[d] == 0 &&
            sizes.more[d] == 0 && sizes.dilation[d] == 1;
  }
  ASSIGN_OR_RETURN(std::string y,
                   apart ? SideBySide(translator, x, w, name) : SpreadOut(translator, x, w, sizes, name));
  if (const std::string bias = OptionalTensorOf(node, "bias"); !bias.empty()) {
    ASSIGN_OR_RETURN(const Imported b, translator.GetParameter(bias, {0}, Beginning::kZeros));
    ASSIGN_OR_RETURN(y, translator.Add(name + ".bias", "bias", {y, b.node}));
  }
  translator.Bind(name, {std::move(y), x.order});
  return absl::OkStatus();
}

// The largest of windows that cover a dimension and are all as long.
absl::Status AdaptiveMaxPool(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  const size_t sides = OpOf(node.target) == "adaptive_max_pool1d" ? 1 : 2;
  if (x.rank() != sides + 2) return InvalidArgument("its input has {} dimensions; expected {}", x.rank(), sides + 2);
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  const Shape shape = translator.ShapeOf(x.node);
  IntList kernel, made;
  for (size_t d = 0; d < sides; ++d) {
    const int64_t size = shape[1 + d];
    made.push_back(translator.SizeOf(name, d + 2).value);
    if (made.back() < 1 || size % made.back() != 0) {
      return InvalidArgument("windows that differ: {} elements become {}", size, made.back());
    }
    kernel.push_back(size / made.back());
  }
  const int64_t channels = shape.back();
  if (sides == 1) {
    kernel.push_back(1);
    ASSIGN_OR_RETURN(
        x.node, translator.Add(name + ".image", "reshape", {x.node}, {{"shape", Shape{-1, shape[1], 1, channels}}}));
  }
  ASSIGN_OR_RETURN(x.node, translator.Add(sides == 1 ? name + ".pool" : name, "max_pool", {x.node},
                                          {{"kernel", kernel}, {"stride", kernel}}));
  if (sides == 1) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", Shape{-1, made[0], channels}}}));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

}  // namespace

void AddImages(Translations& translations) {
  for (const char* const name :
       {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d",
        "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"}) {
    translations[name] = Resize;
  }
  translations.insert({{"adaptive_avg_pool1d", AdaptivePool},
                       {"adaptive_avg_pool2d", AdaptivePool},
                       {"adaptive_avg_pool3d", AdaptivePool},
                       {"conv3d", Convolution3d},
                       {"max_pool3d", MaxPool3d},
                       {"adaptive_max_pool1d", AdaptiveMaxPool},
                       {"adaptive_max_pool2d", AdaptiveMaxPool},
                       {"conv_transpose1d", TransposedConvolution},
                       {"conv_transpose2d", TransposedConvolution}});
}

}  // namespace partita::torch_export
