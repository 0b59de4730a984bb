// AlexNet in two forms: five convolutions, of which the first two and the last are pooled, and three dense layers.
#include "tools/models/layers.h"

namespace partita {
namespace {

struct Form {
  const char* name;
  int64_t image_size;
  int64_t stem_padding;
  int64_t channels[5];
};

// Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks", with rates and sizes of
// torchvision.
constexpr Form kOneTower = {"alexnet", 224, 2, {64, 192, 384, 256, 256}};
// Krizhevsky et al. 2012, but what its two GPUs do not tell each other is told: no convolution has groups.
constexpr Form k2012 = {"alexnet-2012", 227, 0, {96, 256, 384, 384, 256}};

absl::StatusOr<Model> MakeForm(const Form& form, const ModelOptions& options, const OpRegistry& registry) {
  ModelDefaults defaults = ImageNetDefaults();
  defaults.image_size = form.image_size;
  defaults.dropout = true;
  defaults.dropout_rate = 0.5;
  ModelLayers layers(options, registry, defaults);
  const WindowOptions pool{.kernel = 3, .stride = 2};
  GraphBuilder& b = layers.builder();
  ValueId x = layers.Conv("conv1", layers.images(),
                          {.channels = form.channels[0], .kernel = 11, .stride = 4, .padding = form.stem_padding});
  x = layers.EndOfBlock("conv1", b.MaxPool("pool1", x, pool));
  x = layers.Conv("conv2", x, {.channels = form.channels[1], .kernel = 5, .padding = 2});
  x = layers.EndOfBlock("conv2", b.MaxPool("pool2", x, pool));
  x = layers.Conv("conv3", x, {.channels = form.channels[2], .kernel = 3, .padding = 1});
  x = layers.Conv("conv4", x, {.channels = form.channels[3], .kernel = 3, .padding = 1});
  x = layers.Conv("conv5", x, {.channels = form.channels[4], .kernel = 3, .padding = 1});
  x = layers.EndOfBlock("conv5", b.MaxPool("pool5", x, pool));
  x = b.Flatten("flatten", x);
  x = layers.Hidden("dense1", layers.Dropout("dropout1", x), 4096);
  x = layers.Hidden("dense2", layers.Dropout("dropout2", x), 4096);
  return layers.Finish(form.name, x, StaircaseSgd(0.01, 5e-4, options.batch));
}

}  // namespace

absl::StatusOr<Model> MakeAlexNet(const ModelOptions& options, const OpRegistry& registry) {
  return MakeForm(kOneTower, options, registry);
}

absl::StatusOr<Model> MakeAlexNet2012(const ModelOptions& options, const OpRegistry& registry) {
  return MakeForm(k2012, options, registry);
}

}  // namespace partita
