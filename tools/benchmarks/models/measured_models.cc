#include "tools/benchmarks/models/measured_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tools/models/big_lstm.h"
#include "tools/models/convnext.h"
#include "tools/models/gnmt.h"
#include "tools/models/layers.h"
#include "tools/models/models.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/gpt2.h"
#include "tools/models/transformers/swin.h"
#include "tools/models/transformers/t5.h"
#include "tools/models/transformers/vit.h"
#include "tools/models/unet.h"

namespace partita {
namespace {

absl::StatusOr<Model> MakeConvStack(const ModelOptions& options) {
  ModelLayers layers(options, Ops(), {.batch_norm = true});
  const Conv2dOptions wide{.channels = 128, .kernel = 3, .padding = 1};
  ValueId x = layers.Conv("stem", layers.images(), wide);
  for (int layer = 1; layer <= 8; ++layer) x = layers.Conv("conv" + std::to_string(layer), x, wide);
  return layers.Finish("conv-stack", layers.builder().GlobalAveragePool("pool", x));
}

absl::StatusOr<Model> MakeWideMlp(const ModelOptions& options) {
  ModelLayers layers(options, Ops(), {});
  ValueId x = layers.builder().Flatten("flatten", layers.images());
  for (int layer = 1; layer <= 4; ++layer) x = layers.Hidden("dense" + std::to_string(layer), x, 4096);
  return layers.Finish("wide-mlp", x);
}

// What the models of words have; `hidden` and `length` are the fields of the options that those flags set.
template <typename Options>
void SetSizes(const MeasuredModel& sizes, int64_t Options::*hidden, int64_t Options::*length, Options& options) {
  options.batch = sizes.batch;
  if (sizes.length > 0) options.*length = sizes.length;
  if (sizes.vocabulary > 0) options.words = sizes.vocabulary;
  if (sizes.hidden > 0) options.*hidden = sizes.hidden;
  if (sizes.layers > 0) options.layers = sizes.layers;
  if (!sizes.dropout) options.dropout_rate = 0;
}

absl::StatusOr<Model> MakeSmallBigLstm(const MeasuredModel& sizes) {
  BigLstmOptions options{.words = 100'000, .units = 2048, .projection = 512};
  SetSizes(sizes, &BigLstmOptions::units, &BigLstmOptions::places, options);
  return MakeBigLstm(options, Ops());
}

absl::StatusOr<Model> MakeMeasuredGnmt(const MeasuredModel& sizes) {
  GnmtOptions options{.source_places = 27, .target_places = 28};
  SetSizes(sizes, &GnmtOptions::units, &GnmtOptions::target_places, options);
  return MakeGnmt(options, Ops());
}

absl::StatusOr<Model> MakeMeasuredGpt2(const MeasuredModel& sizes) {
  Gpt2Options options{.length = 512};
  SetSizes(sizes, &Gpt2Options::width, &Gpt2Options::length, options);
  return MakeGpt2(options, Ops());
}

absl::StatusOr<Model> MakeMeasuredBert(const MeasuredModel& sizes) {
  BertOptions options;
  SetSizes(sizes, &BertOptions::width, &BertOptions::length, options);
  return MakeBert(options, Ops());
}

absl::StatusOr<Model> MakeMeasuredT5(const MeasuredModel& sizes) {
  T5Options options;
  SetSizes(sizes, &T5Options::width, &T5Options::target_places, options);
  return MakeT5(options, Ops());
}

}  // namespace

const std::vector<MeasuredModel>& MeasuredModels() {
  static const auto& models = *new std::vector<MeasuredModel>{{"mini-inception", 64, 28},
                                                              {"mini-inception", 256, 28},
                                                              {"conv-stack", 64, 56},
                                                              {"wide-mlp", 4096, 28},
                                                              {"inception-v3", 4, 299, true},
                                                              {"resnet-50", 4, 224, true},
                                                              {"alexnet", 16, 224, true},
                                                              {"alexnet-2012", 16, 227, true},
                                                              {"vgg-16", 4, 224, true},
                                                              {.name = "big-lstm", .batch = 32, .only_alone = true},
                                                              {.name = "gnmt", .batch = 32, .only_alone = true},
                                                              {.name = "gpt2", .batch = 8, .only_alone = true},
                                                              {.name = "bert-base", .batch = 8, .only_alone = true},
                                                              {.name = "t5-small", .batch = 8, .only_alone = true},
                                                              {"vit-b-16", 4, 224, true},
                                                              {"swin-t", 8, 224, true},
                                                              {"convnext-tiny", 8, 224, true},
                                                              {"mobilenet-v3-large", 32, 224, true},
                                                              {"efficientnet-b0", 16, 224, true},
                                                              {"unet", 2, 256, true}};
  return models;
}

std::vector<std::string> MeasuredModelNames() {
  std::vector<std::string> names;
  for (const MeasuredModel& model : MeasuredModels()) {
    if (names.empty() || names.back() != model.name) names.push_back(model.name);
  }
  return names;
}

MeasuredModel MeasuredModelOf(const std::string& name) {
  const auto found = std::ranges::find(MeasuredModels(), name, &MeasuredModel::name);
  return found == MeasuredModels().end() ? MeasuredModel{name, 64, 28} : *found;
}

std::vector<std::string> GivenSizes(const MeasuredModel& model) {
  std::vector<std::string> sizes;
  if (model.vocabulary > 0) sizes.push_back(fmt::format("vocabulary={}", model.vocabulary));
  if (model.hidden > 0) sizes.push_back(fmt::format("hidden={}", model.hidden));
  if (model.layers > 0) sizes.push_back(fmt::format("layers={}", model.layers));
  if (model.length > 0) sizes.push_back(fmt::format("length={}", model.length));
  return sizes;
}

absl::StatusOr<ThroughputUnit> UnitOf(const MeasuredModel& sizes) {
  if (!sizes.of_words()) return ThroughputUnit();
  ASSIGN_OR_RETURN(const Model model, MakeMeasuredModel(sizes));
  ValueId targets = model.graph.Find("targets");
  if (targets < 0) targets = model.graph.Find("labels");
  if (targets < 0) return Internal("{} has neither targets nor labels", sizes.name);
  return ThroughputUnit{"words", Elements(model.graph.value(targets).type.shape) / sizes.batch};
}

absl::StatusOr<Model> MakeMeasuredModel(const MeasuredModel& sizes) {
  if (sizes.name == "big-lstm") return MakeSmallBigLstm(sizes);
  if (sizes.name == "gnmt") return MakeMeasuredGnmt(sizes);
  if (sizes.name == "gpt2") return MakeMeasuredGpt2(sizes);
  if (sizes.name == "bert-base") return MakeMeasuredBert(sizes);
  if (sizes.name == "t5-small") return MakeMeasuredT5(sizes);
  if (sizes.name == "vit-b-16") return MakeVit({.batch = sizes.batch, .image_size = sizes.image_size}, Ops());
  if (sizes.name == "swin-t") return MakeSwin({.batch = sizes.batch, .image_size = sizes.image_size}, Ops());
  if (sizes.name == "unet") return MakeUnet({.batch = sizes.batch, .image_size = sizes.image_size}, Ops());
  if (sizes.name == "convnext-tiny") {
    return MakeConvNext({.batch = sizes.batch, .image_size = sizes.image_size}, Ops());
  }
  ModelOptions options;
  options.batch = sizes.batch;
  options.image_size = sizes.image_size;
  if (!sizes.dropout) options.dropout = false;
  if (sizes.name == "conv-stack") return MakeConvStack(options);
  if (sizes.name == "wide-mlp") return MakeWideMlp(options);
  return MakeModel(sizes.name, options, Ops());
}

}  // namespace partita
