#include "run/data/picture_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "graph/ir/generated_name.h"
#include "run/data/class_weights.h"
#include "run/host/log.h"
#include "run/spec/spec_error.h"
#include "runtime/base/file_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/measure_pictures.h"
#include "runtime/data/pictures/picture_batches.h"
#include "runtime/data/pictures/picture_folder.h"
#include "runtime/data/pictures/picture_shards.h"
#include "runtime/data/pictures/show_picture.h"
#include "runtime/device/host/cores.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

using Threads = std::shared_ptr<DecodeThreads>;

int64_t ThreadsOf(const RunSpec& spec) {
  const int64_t asked = spec.dataset().pictures().decode_threads();
  return asked > 0 ? asked : UsableCores();
}

// What decoding one picture may take; bounded, so that a sum over all threads is a number.
int64_t DecodeBytes(const RunSpec& spec) {
  return std::min(spec.dataset().pictures().decode_memory(), int64_t{1} << 50);
}

// A model sees pictures as it did in training.
absl::StatusOr<int64_t> ResizeOf(const RunSpec& spec, const DataRequest& request) {
  const int64_t asked = spec.dataset().pictures().resize();
  if (!request.preprocessing) return asked;
  const int64_t known = request.preprocessing->resize;
  if (!spec.dataset().pictures().has_resize() || asked == known) return known;
  const std::string size = known == 0 ? "the graph's size" : fmt::format("a shorter side of {}", known);
  return FlagError("flag --resize is {}; the model that is loaded was trained on pictures scaled to {}", asked, size);
}

// Of the graph's own size; what a training draws in addition is `request`'s.
absl::StatusOr<PictureBatchOptions> OptionsOf(const RunSpec& spec, const ImageRequest& image,
                                              const DataRequest& request) {
  const ImageInputs& inputs = image.inputs;
  if (inputs.type.shape.size() != 4) {
    return InvalidArgument("input '{}' is {}, pictures need [batch, height, width, channels]", inputs.images,
                           ToString(inputs.type.shape));
  }
  const ImageShape shape = inputs.shape();
  PictureBatchOptions options;
  options.batch_rows = inputs.batch();
  options.seed = image.seed;
  options.channels = static_cast<int>(shape.channels);
  options.views.size = {shape.height, shape.width};
  ASSIGN_OR_RETURN(options.views.resize, ResizeOf(spec, request));
  options.fields = {inputs.images, inputs.labels, kSampleWeightName, DType::kU8, image.floating};
  options.bad_files = spec.dataset().pictures().bad_files() == "skip" ? BadFilePolicy::kSkip : BadFilePolicy::kStop;
  options.warn = [](const std::string& what) { Warn("left out: {}", what); };
  return options;
}

void TellOfBadFiles(const std::string& path, const BadFiles& bad) {
  if (bad.count == 0) return;
  Warn("{}: {} left out, among them:", path, Counted(bad.count, "file") + (bad.count == 1 ? " is" : " are"));
  for (const std::string& what : bad.first) Warn("  {}", what);
}

absl::StatusOr<PictureSets> Scan(const std::string& path, const RunSpec& spec, const PictureBatchOptions& options,
                                 const ImageRequest& image, const DataRequest& request, DecodeThreads& threads) {
  const ImageInputs& inputs = image.inputs;
  ScanOptions scan{options.bad_files, spec.dataset().pictures().test_share()};
  if (request.preprocessing) scan.classes = request.preprocessing->class_names;
  scan.labelled = !request.reads || request.reads(inputs.labels);
  scan.labels_below = inputs.classes;
  scan.decode_bytes = DecodeBytes(spec);
  scan.one_class = request.preprocessing.has_value();
  // Without a model the mean and deviation of pixels are measured on training pictures.
  scan.train = request.training != Need::kNo || (!request.preprocessing && !image.normalization);
  scan.test = request.test != Need::kNo;
  ASSIGN_OR_RETURN(PictureSets sets, ShardsOf(path).empty() ? ScanPictureFolder(path, scan, threads)
                                                            : ScanPictureShards(path, scan, threads));
  const int64_t classes = static_cast<int64_t>(sets.classes.size());
  if (classes > inputs.classes) {
    return InvalidArgument("{}: there are {} classes, the graph tells {} apart", path, classes, inputs.classes);
  }
  return sets;
}

absl::StatusOr<Normalization> Measure(const std::string& path, const PictureSets& sets,
                                      const PictureBatchOptions& options, DecodeThreads& threads) {
  if (sets.train.samples.empty()) {
    return InvalidArgument("{}: there are no training pictures, on which the mean and deviation of pixels are measured",
                           path);
  }
  // Those that are damaged are warned of when they are met again.
  BadFiles bad;
  bad.policy = options.bad_files;
  return MeasurePictures(sets.train, options.views, options.channels, threads, bad);
}

absl::StatusOr<std::shared_ptr<const PictureBatches>> MakeBatches(PictureSet set, const Threads& threads,
                                                                  const PictureBatchOptions& options) {
  if (set.samples.empty()) return nullptr;
  return PictureBatches::Create(std::make_shared<const PictureSet>(std::move(set)), threads, options);
}

// Of archives, whose labels are numbers, and where there are none, as a model knows them.
std::vector<std::string> ClassNames(const std::string& path, const PictureSets& sets, const DataRequest& request) {
  if (ShardsOf(path).empty() && !sets.classes.empty()) return sets.classes;
  return request.preprocessing ? request.preprocessing->class_names : std::vector<std::string>();
}

std::string ManifestOf(const PictureSets& sets, const Normalization& normalization) {
  return fmt::format("training set: {} pictures, {:016x}; test set: {} pictures, {:016x}; mean {}, deviation {}",
                     sets.train.samples.size(), Digest(sets.train), sets.test.samples.size(), Digest(sets.test),
                     fmt::join(normalization.mean, " "), fmt::join(normalization.deviation, " "));
}

}  // namespace

bool HoldsPictures(const std::string& path) {
  if (!ShardsOf(path).empty()) return true;
  bool pictures = HasLoosePictures(path);
  std::error_code error, ignored;
  fs::directory_iterator next(path, error);
  while (!error && next != fs::directory_iterator()) {
    const std::string name = next->path().filename().native();
    if (name.find("-idx") != std::string::npos) return false;
    pictures = pictures || (next->is_directory(ignored) && !IsForeignFile(name));
    next.increment(error);
  }
  return pictures;
}

absl::StatusOr<TrainingData> PictureData(const std::string& path, const RunSpec& spec, const ImageRequest& image,
                                         const DataRequest& request) {
  ASSIGN_OR_RETURN(PictureBatchOptions options, OptionsOf(spec, image, request));
  ASSIGN_OR_RETURN(const Threads threads, DecodeThreads::Start(ThreadsOf(spec)));
  ASSIGN_OR_RETURN(PictureSets sets, Scan(path, spec, options, image, request, *threads));
  // What training would meet only behind an epoch is told before it; an evaluation meets it at once.
  const bool looks = options.bad_files == BadFilePolicy::kSkip || request.training != Need::kNo;
  if (looks && request.test != Need::kNo) {
    RETURN_IF_ERROR(DropDamaged(sets.test, *threads, sets.bad));
  }
  TellOfBadFiles(path, sets.bad);
  ASSIGN_OR_RETURN(std::optional<Normalization> known, KnownNormalization(image, request));
  if (known) {
    options.normalization = *std::move(known);
  } else {
    ASSIGN_OR_RETURN(options.normalization, Measure(path, sets, options, *threads));
  }
  TrainingData data;
  data.decode_bytes = ThreadsOf(spec) * DecodeBytes(spec);
  std::shared_ptr<const PictureBatches> training;
  data.preprocessing = {image.inputs.shape(), image.inputs.classes, options.normalization, options.views.resize,
                        ClassNames(path, sets, request)};
  data.pixels[image.inputs.images] = options.normalization;
  data.manifest = ManifestOf(sets, options.normalization);
  if (request.counts_labels) {
    std::vector<int32_t> labels;
    for (const PictureSample& sample : sets.train.samples) labels.push_back(sample.label);
    data.label_counts[image.inputs.labels] = CountLabels(labels, image.inputs.classes);
  }
  if (request.test != Need::kNo) {
    options.mode = BatchMode::kEvaluation;
    ASSIGN_OR_RETURN(data.test, MakeBatches(std::move(sets.test), threads, options));
  }
  if (request.training != Need::kNo) {
    options.mode = BatchMode::kTraining;
    options.views.shift = request.augmentation.shift;
    options.views.flip = request.augmentation.flip;
    options.views.least_area = request.least_area;
    options.views.colour = request.colour;
    ASSIGN_OR_RETURN(training, MakeBatches(std::move(sets.train), threads, options));
    data.training = training;
  }
  data.left_out_files = [before = sets.bad.count, training] {
    return before + (training == nullptr ? 0 : training->left_out());
  };
  return data;
}

}  // namespace partita
