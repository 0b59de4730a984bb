#include "tools/models/transformers/swin.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"
#include "tools/models/transformers/transformer_layers.h"

namespace partita {
namespace {

constexpr double kDeviation = 0.02;  // of initial weights
constexpr double kEpsilon = 1e-5;    // of layer norms
constexpr double kApart = -100;      // added to the score of two patches that only the shift brought into one window

// The sizes of a stage's values: [batch, side, side, channels].
struct StageSizes {
  int64_t side, channels, heads;
};

class Swin {
 public:
  Swin(const SwinOptions& options, const OpRegistry& registry) : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const int64_t size = options_.image_size, patch = options_.patch;
    const ValueId images =
        builder_.Input("images", options_.dtype, {options_.batch, size, size, options_.image_channels});
    const ValueId labels = builder_.Input("labels", DType::kI32, {options_.batch});
    const Shape shape = {options_.width, patch, patch, options_.image_channels};
    const double deviation = std::sqrt(1 / static_cast<double>(patch * patch * options_.image_channels));
    const ValueId w = builder_.Parameter("patches/weights", shape, "normal", deviation);
    ValueId x = builder_.Bias("patches/bias",
                              builder_.Add("patches", "conv2d", {images, w}, {{"stride", IntList{patch, patch}}}));
    x = Norm("patches/norm", x);
    StageSizes sizes{size / patch, options_.width, 0};
    for (size_t s = 0; s < options_.stages.size(); ++s) {
      const std::string stage = fmt::format("stage{}", s + 1);
      if (s > 0) x = Merge(stage + "/merge", x, sizes);
      sizes.heads = options_.stages[s].heads;
      for (int64_t b = 1; b <= options_.stages[s].blocks; ++b) {
        x = Block(fmt::format("{}/{}", stage, b), stage, x, sizes, b % 2 == 0);
      }
    }
    x = builder_.GlobalAveragePool("global_pool", Norm("norm", x));
    const ValueId logits = Dense("logits", x, options_.classes);
    const ValueId loss = builder_.SoftmaxCrossEntropy("loss", logits, labels, options_.label_smoothing);
    return builder_.Build(loss, {builder_.Accuracy("accuracy", logits, labels)});
  }

 private:
  ValueId Block(const std::string& name, const std::string& stage, ValueId x, const StageSizes& sizes, bool second) {
    // One window of all patches has nothing to be shifted against.
    const int64_t shift = second && sizes.side > options_.window ? options_.window / 2 : 0;
    ValueId y = Norm(name + "/norm1", x);
    if (shift > 0) y = Rolled(name + "/shifted", y, sizes.side, shift);
    y = Attention(name, stage, Windows(name + "/windows", y, sizes), sizes, shift);
    y = FromWindows(name + "/picture", y, sizes);
    if (shift > 0) y = Rolled(name + "/shifted_back", y, sizes.side, sizes.side - shift);
    x = builder_.Add(name + "/attention/sum", "add", {x, y});
    y = Reshape(name + "/rows", Norm(name + "/norm2", x), {-1, sizes.side * sizes.side, sizes.channels});
    y = builder_.Add(name + "/gelu", "gelu", {Dense(name + "/up", y, 4 * sizes.channels)});
    y = Reshape(name + "/mlp", Dense(name + "/down", y, sizes.channels), {-1, sizes.side, sizes.side, sizes.channels});
    return builder_.Add(name + "/mlp/sum", "add", {x, y});
  }

  // Row (or column) i of the result is row (column) i + shift.
  ValueId Rolled(const std::string& name, ValueId x, int64_t side, int64_t shift) {
    for (const int64_t axis : {1, 2}) {
      const std::string part = name + (axis == 1 ? "/rows" : "/columns");
      IntList begin(4, 0), first(4, -1), rest(4, -1);
      begin[axis] = shift;
      first[axis] = shift;
      rest[axis] = side - shift;
      const ValueId to_front = builder_.Add(part + "/rest", "slice", {x}, {{"begin", begin}, {"size", rest}});
      const ValueId to_end = builder_.Add(part + "/first", "slice", {x}, {{"begin", IntList(4, 0)}, {"size", first}});
      x = builder_.Concat(axis == 1 ? part : name, {to_front, to_end}, axis);
    }
    return x;
  }

  // [batch, places of a window, windows, channels]: windows stand where heads do, so attention within all of them is
  // one op, which a strategy splits between windows too.
  ValueId Windows(const std::string& name, ValueId x, const StageSizes& sizes) {
    const int64_t w = options_.window, n = sizes.side / w;
    x = Exchanged(name + "/rows", x, {-1, n, w, n * w * sizes.channels});
    x = Exchanged(name + "/columns", x, {-1, n * n, w, sizes.channels});
    return Reshape(name, x, {-1, w * w, n * n * sizes.channels});
  }

  ValueId FromWindows(const std::string& name, ValueId x, const StageSizes& sizes) {
    const int64_t w = options_.window, n = sizes.side / w;
    x = Exchanged(name + "/columns", x, {-1, w, n * n, sizes.channels});
    x = Exchanged(name + "/rows", x, {-1, w, n, n * w * sizes.channels});
    return Reshape(name, x, {-1, sizes.side, sizes.side, sizes.channels});
  }

  // Dimensions 1 and 2 of x in that shape change places.
  ValueId Exchanged(const std::string& name, ValueId x, const IntList& shape) {
    return builder_.Add(name, "transpose", {Reshape(name + "/parts", x, shape)},
                        {{"permutation", IntList{0, 2, 1, 3}}});
  }

  ValueId Attention(const std::string& name, const std::string& stage, ValueId x, const StageSizes& sizes,
                    int64_t shift) {
    const int64_t places = options_.window * options_.window, windows = sizes.side * sizes.side / places;
    const ValueId rows = Reshape(name + "/patches", x, {-1, places * windows, sizes.channels});
    const auto heads = [&](const std::string& part) {
      return Reshape(part + "/heads", Dense(part, rows, sizes.channels),
                     {-1, places, windows * sizes.heads, sizes.channels / sizes.heads});
    };
    const ValueId query = heads(name + "/query"), key = heads(name + "/key"), value = heads(name + "/value");
    const ValueId bias = Bias(name + "/positions", stage, sizes, shift);
    const ValueId read =
        builder_.Add(name + "/read", "scaled_dot_product_attention", {query, key, value, kNoValue, bias});
    const ValueId joined = Reshape(name + "/joined", read, {-1, places * windows, sizes.channels});
    return Dense(name + "/output", joined, sizes.channels);
  }

  // [windows * heads, places, places]: of each head and relative position, and whether two patches are neighbors at
  // all.
  ValueId Bias(const std::string& name, const std::string& stage, const StageSizes& sizes, int64_t shift) {
    const int64_t w = options_.window, places = w * w, windows = sizes.side * sizes.side / places;
    const ValueId table =
        builder_.Parameter(name + "/table", {(2 * w - 1) * (2 * w - 1), sizes.heads}, "normal", kDeviation);
    ValueId x = builder_.Add(name + "/read", "embedding", {table, RelativePositions()});
    x = Reshape(name + "/pairs", x, {places, places, sizes.heads});
    x = builder_.Add(name + "/of_heads", "transpose", {x}, {{"permutation", IntList{2, 0, 1}}});
    if (shift > 0) {
      x = builder_.Add(name + "/apart", "add",
                       {Reshape(name + "/of_windows", x, {1, sizes.heads, places, places}),
                        Apart(stage + "/apart", sizes.side, shift)});
    } else {
      x = builder_.Add(name + "/of_windows", "expand", {x}, {{"axes", IntList{0}}, {"sizes", IntList{windows}}});
    }
    return Reshape(name, x, {windows * sizes.heads, places, places});
  }

  // The row of the table for each pair of places.
  ValueId RelativePositions() {
    if (relative_positions_ != kNoValue) return relative_positions_;
    const int64_t w = options_.window;
    std::vector<double> rows;
    for (int64_t query = 0; query < w * w; ++query) {
      for (int64_t key = 0; key < w * w; ++key) {
        const int64_t row = (query / w - key / w + w - 1) * (2 * w - 1) + query % w - key % w + w - 1;
        rows.push_back(static_cast<double>(row));
      }
    }
    relative_positions_ = builder_.Table("relative_positions", DType::kI32, {w * w * w * w}, rows);
    return relative_positions_;
  }

  // [windows, 1, places, places] of a shifted picture, once for each stage.
  ValueId Apart(const std::string& name, int64_t side, int64_t shift) {
    if (apart_name_ == name) return apart_;
    const int64_t w = options_.window, n = side / w;
    // Of a row or a column, which of the three parts that the shift left next to each other it is in.
    const auto part = [&](int64_t i) { return i < side - w ? 0 : i < side - shift ? 1 : 2; };
    std::vector<double> added;
    for (int64_t window = 0; window < n * n; ++window) {
      const int64_t top = window / n * w, left = window % n * w;
      for (int64_t query = 0; query < w * w; ++query) {
        for (int64_t key = 0; key < w * w; ++key) {
          const bool together =
              part(top + query / w) == part(top + key / w) && part(left + query % w) == part(left + key % w);
          added.push_back(together ? 0 : kApart);
        }
      }
    }
    apart_name_ = name;
    apart_ = builder_.Table(name, options_.dtype, {n * n, 1, w * w, w * w}, added);
    return apart_;
  }

  // Two by two neighbors become one of twice the channels; the upper left one comes first, then the one below it.
  ValueId Merge(const std::string& name, ValueId x, StageSizes& sizes) {
    const int64_t channels = sizes.channels;
    sizes.side /= 2;
    x = Exchanged(name + "/rows", x, {-1, 2, sizes.side, 2 * channels});
    x = Reshape(name + "/squares", x, {-1, sizes.side * sizes.side, 4, channels});
    x = Reshape(name + "/order", Exchanged(name + "/columns", x, {-1, 2, 2, channels}),
                {-1, sizes.side, sizes.side, 4 * channels});
    sizes.channels = 2 * channels;
    const ValueId rows =
        Reshape(name + "/joined", Norm(name + "/norm", x), {-1, sizes.side * sizes.side, 4 * channels});
    const ValueId w = builder_.Parameter(name + "/weights", {4 * channels, sizes.channels}, "normal", kDeviation);
    return Reshape(name + "/picture", builder_.Add(name, "matmul", {rows, w}),
                   {-1, sizes.side, sizes.side, sizes.channels});
  }

  ValueId Norm(const std::string& name, ValueId x) { return builder_.LayerNorm(name, x, kEpsilon); }

  ValueId Dense(const std::string& name, ValueId x, int64_t units) {
    if (!builder_.status().ok()) return kNoValue;
    const Shape shape = {builder_.type(x).shape.back(), units};
    const ValueId w = builder_.Parameter(name + "/weights", shape, "normal", kDeviation);
    return builder_.Bias(name + "/bias", builder_.Add(name, "matmul", {x, w}));
  }

  ValueId Reshape(const std::string& name, ValueId x, const IntList& shape) {
    return builder_.Add(name, "reshape", {x}, {{"shape", shape}});
  }

  const SwinOptions& options_;
  GraphBuilder builder_;
  ValueId relative_positions_ = kNoValue, apart_ = kNoValue;
  std::string apart_name_;
};

absl::Status Check(const SwinOptions& options) {
  if (options.stages.empty() || options.window < 1 || options.patch < 1 || options.width < 1) {
    return InvalidArgument("{} stages, a window of {}, patches of {} and {} channels; expected at least 1 of each",
                           options.stages.size(), options.window, options.patch, options.width);
  }
  const auto halvings = static_cast<int>(options.stages.size()) - 1;
  const int64_t unit = options.patch * options.window << halvings;
  if (options.image_size < unit || options.image_size % unit != 0) {
    return InvalidArgument(
        "image_size is {}; expected a multiple of {}: patches of {} pixels, windows of {} patches, {} halvings",
        options.image_size, unit, options.patch, options.window, halvings);
  }
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const SwinOptions::Stage& stage = options.stages[s];
    const int64_t channels = options.width << s;
    if (stage.blocks < 1) return InvalidArgument("stage {} has {} blocks; expected at least 1", s + 1, stage.blocks);
    if (stage.heads < 1 || channels % stage.heads != 0) {
      return InvalidArgument("stage {} has {} heads; expected a divisor of its {} channels", s + 1, stage.heads,
                             channels);
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Trained as its authors trained it on ImageNet-1K: 300 epochs with batches of 1024.
absl::StatusOr<Model> MakeSwin(const SwinOptions& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "swin-t";
  ASSIGN_OR_RETURN(model.graph, Swin(options, registry).Build());
  model.optimizer = AdamW({{"weight_decay", 0.05}}, 5, {"*/table"});
  model.learning_rate.base = 1e-3 * static_cast<double>(options.batch) / 1024;
  model.learning_rate.schedule = "cosine";
  return model;
}

}  // namespace partita
