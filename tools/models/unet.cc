#include "tools/models/unet.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ops/graph_builder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class Unet {
 public:
  Unet(const UnetOptions& options, const OpRegistry& registry) : options_(options), builder_(registry, options.dtype) {}

  absl::StatusOr<Graph> Build() {
    const int64_t size = options_.image_size;
    const ValueId images =
        builder_.Input("images", options_.dtype, {options_.batch, size, size, options_.image_channels});
    const ValueId labels = builder_.Input("labels", DType::kI32, {options_.batch, size, size});
    std::vector<ValueId> of_size = {TwoConvolutions("down0", images, options_.channels)};
    for (int64_t s = 1; s <= options_.halvings; ++s) {
      const std::string name = fmt::format("down{}", s);
      const ValueId half = builder_.MaxPool(name + "/pool", of_size.back(), {.kernel = 2, .stride = 2});
      of_size.push_back(TwoConvolutions(name, half, options_.channels << s));
    }
    ValueId x = of_size.back();
    for (int64_t s = options_.halvings; s-- > 0;) {
      const std::string name = fmt::format("up{}", s);
      const ValueId up = Doubled(name, x, size >> (s + 1), options_.channels << s);
      x = TwoConvolutions(name, builder_.Concat(name + "/both", {of_size[s], up}, 3), options_.channels << s);
    }
    const ValueId logits = Convolution("logits", x, options_.channels, options_.classes);
    const ValueId pixels = Reshape("pixels", builder_.Bias("logits/bias", logits), {-1, size * size, options_.classes});
    const ValueId of_pixels = Reshape("labels/pixels", labels, {-1, size * size});
    const ValueId loss = builder_.SoftmaxCrossEntropy("loss", pixels, of_pixels);
    return builder_.Build(loss, {builder_.Accuracy("accuracy", pixels, of_pixels)});
  }

 private:
  ValueId TwoConvolutions(const std::string& name, ValueId x, int64_t channels) {
    for (const char* const part : {"/1", "/2"}) {
      const std::string layer = name + part;
      x = builder_.Conv2d(layer + "/conv", x, {.channels = channels, .kernel = 3, .padding = 1});
      x = builder_.Relu(layer + "/relu", builder_.BatchNorm(layer + "/batch_norm", x, {.epsilon = 1e-5}));
    }
    return x;
  }

  ValueId Convolution(const std::string& name, ValueId x, int64_t inputs, int64_t outputs) {
    const ValueId w = builder_.Parameter(name + "/weights", {outputs, 1, 1, inputs}, "he_normal");
    return builder_.Add(name, "conv2d", {x, w});
  }

  // Each pixel becomes two by two of half the channels: the transposed convolution whose windows do not overlap.
  ValueId Doubled(const std::string& name, ValueId x, int64_t side, int64_t channels) {
    x = Reshape(name + "/parts", Convolution(name + "/double", x, 2 * channels, 4 * channels),
                {-1, side, 2, 2 * channels});
    x = builder_.Add(name + "/rows", "transpose", {x}, {{"permutation", IntList{0, 2, 1, 3}}});
    return builder_.Bias(name + "/bias", Reshape(name + "/picture", x, {-1, 2 * side, 2 * side, channels}));
  }

  ValueId Reshape(const std::string& name, ValueId x, const IntList& shape) {
    return builder_.Add(name, "reshape", {x}, {{"shape", shape}});
  }

  const UnetOptions& options_;
  GraphBuilder builder_;
};

absl::Status Check(const UnetOptions& options) {
  if (options.halvings < 1 || options.halvings > 16 || options.channels < 1) {
    return InvalidArgument("{} halvings and {} channels; expected 1 to 16 and at least 1", options.halvings,
                           options.channels);
  }
  const int64_t unit = int64_t{1} << options.halvings;
  if (options.image_size >= unit && options.image_size % unit == 0) return absl::OkStatus();
  return InvalidArgument("image_size is {}; expected a multiple of {}: its side is halved {} times", options.image_size,
                         unit, options.halvings);
}

}  // namespace

absl::StatusOr<Model> MakeUnet(const UnetOptions& options, const OpRegistry& registry) {
  RETURN_IF_ERROR(Check(options));
  Model model;
  model.name = "unet";
  ASSIGN_OR_RETURN(model.graph, Unet(options, registry).Build());
  model.optimizer = {"adam", {}, 1.0};
  model.learning_rate.base = 1e-3;
  model.learning_rate.schedule = "cosine";
  return model;
}

}  // namespace partita
