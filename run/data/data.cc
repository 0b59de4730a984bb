#include "run/data/data.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "run/data/array_data.h"
#include "run/data/array_files.h"
#include "run/data/image_data.h"
#include "run/data/pair_data.h"
#include "run/data/picture_data.h"
#include "run/data/text_data.h"
#include "run/plan/run_options.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "runtime/data/image_dataset.h"
#include "runtime/train/graph_fields.h"
#include "runtime/train/image_inputs.h"

namespace partita {
namespace {

uint64_t SeedOf(const RunSpec& spec) { return static_cast<uint64_t>(spec.train().seed()); }

absl::Status CheckNeeds(const std::string& source, const DataRequest& request, const TrainingData& data) {
  const bool training = request.training == Need::kYes && data.training == nullptr;
  if (!training && (request.test != Need::kYes || data.test != nullptr)) return absl::OkStatus();
  return InvalidArgument("{}: found no {} set, which is needed here", source, training ? "training" : "test");
}

absl::StatusOr<ArrayRequest> ArraysFor(const RunSpec& spec, const Graph& graph, const DataRequest& request) {
  if (spec.dataset().has_pixel_statistics()) {
    return FlagError("flag --pixel-statistics is for images; arrays and texts are taken as they are");
  }
  const Augmentation& augmentation = request.augmentation;
  if (augmentation.flip || augmentation.shift > 0) {
    return FlagError("flag --{} is for folders of images; arrays and texts are taken as they are",
                     augmentation.flip ? "flip" : "shift");
  }
  ArrayRequest arrays;
  arrays.floating = FloatingType(spec);
  arrays.wanted = WantedFields(graph, arrays.floating);
  for (WantedField& field : arrays.wanted) field.needed = !request.reads || request.reads(field.field.name);
  for (const Graph* const size : request.sizes) arrays.further.push_back(WantedFields(*size, arrays.floating));
  ASSIGN_OR_RETURN(arrays.batch_rows, BatchRows(graph));
  arrays.seed = SeedOf(spec);
  return arrays;
}

absl::StatusOr<ImageRequest> ImagesFor(const RunSpec& spec, ImageInputs inputs) {
  ImageRequest image{std::move(inputs), FloatingType(spec), SeedOf(spec)};
  ASSIGN_OR_RETURN(image.normalization, PixelStatistics(spec, image.inputs.shape().channels));
  return image;
}

// Of labelled images if the graph is for them.
absl::StatusOr<TrainingData> MockData(const RunSpec& spec, const Graph& graph, const DataRequest& request) {
  absl::StatusOr<ImageInputs> inputs = FindImageInputs(graph);
  if (!inputs.ok()) {
    ASSIGN_OR_RETURN(const ArrayRequest arrays, ArraysFor(spec, graph, request));
    return SyntheticData(arrays);
  }
  ASSIGN_OR_RETURN(const ImageRequest image, ImagesFor(spec, *std::move(inputs)));
  ASSIGN_OR_RETURN(ImageSets sets, MockImages(image));
  return ImageData("mock data", std::move(sets), image, request);
}

// A place that holds nothing that we know.
absl::Status CheckHoldsImages(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator next(path, error);
  while (!error && next != std::filesystem::directory_iterator()) {
    if (next->path().filename().native().find("-idx") != std::string::npos) return absl::OkStatus();
    next.increment(error);
  }
  if (error) return InvalidArgument("{}: cannot read the data set: {}", path, error.message());
  return InvalidArgument(
      "{}: found no data set, allowed are folders of IDX files, of pictures by class, of archives (.tar), of arrays "
      "(.npy, of each set in train/ and test/), of texts or of parallel texts with their vocabulary.txt",
      path);
}

absl::Status CheckNoPictures(const RunSpec& spec, const DataRequest& request) {
  for (const GivenFlag& given : GivenFlags(spec.dataset().pictures())) {
    return FlagError("flag --{} is for pictures by class; --data has none", given.flag.name);
  }
  if (request.least_area == 0 && request.colour == 0) return absl::OkStatus();
  return FlagError("flag --{} is for pictures by class; --data has none", request.colour == 0 ? "crop-area" : "colour");
}

absl::Status CheckNoPairs(const RunSpec& spec) {
  for (const GivenFlag& given : GivenFlags(spec.dataset().pairs())) {
    return FlagError("flag --{} is for parallel texts; --data has none", given.flag.name);
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingData> DataOf(const std::string& path, const RunSpec& spec, const Graph& graph,
                                    const DataRequest& request) {
  if (HoldsText(path)) {
    RETURN_IF_ERROR(CheckNoPictures(spec, request));
    ASSIGN_OR_RETURN(const ArrayRequest fields, ArraysFor(spec, graph, request));
    if (HoldsPairs(path)) return PairData(path, spec, fields, request);
    RETURN_IF_ERROR(CheckNoPairs(spec));
    return TextData(path, fields, request);
  }
  RETURN_IF_ERROR(CheckNoPairs(spec));
  if (HasEnding(path, ".tar.gz") || HasEnding(path, ".tgz")) {
    return InvalidArgument("{}: found a compressed archive, allowed is a plain one (.tar)", path);
  }
  // An archive is a file, as arrays are; a folder may have the name of one.
  std::error_code unknown;
  const bool is_archive = HasEnding(path, ".tar") && !std::filesystem::is_directory(path, unknown);
  // A single picture has no class, so only predictions are of one.
  const bool is_picture = request.reads && HasPictureEnding(path) && std::filesystem::is_regular_file(path, unknown);
  const bool pictures = is_archive || is_picture || (!HoldsArrays(path) && HoldsPictures(path));
  if (!pictures) RETURN_IF_ERROR(CheckNoPictures(spec, request));
  if (!pictures && HoldsArrays(path)) {
    ASSIGN_OR_RETURN(const ArrayRequest arrays, ArraysFor(spec, graph, request));
    return ArrayData(path, arrays, request);
  }
  absl::StatusOr<ImageInputs> inputs = FindImageInputs(graph);
  if (!inputs.ok()) {
    if (!pictures && spec.dataset().has_data()) RETURN_IF_ERROR(CheckHoldsImages(path));
    return WithContext(spec.model().graph(), inputs.status());
  }
  ASSIGN_OR_RETURN(const ImageRequest image, ImagesFor(spec, *std::move(inputs)));
  if (pictures) return PictureData(path, spec, image, request);
  if (spec.dataset().has_data()) RETURN_IF_ERROR(CheckHoldsImages(path));
  // Without a model the mean and deviation of pixels are measured on training images.
  const bool measures = !request.preprocessing && !image.normalization;
  const NeededSets needed = {request.training != Need::kNo || measures, request.test != Need::kNo};
  ASSIGN_OR_RETURN(ImageSets sets, LoadMnistFolder(path, image.inputs.classes, needed));
  return ImageData(path, std::move(sets), image, request);
}

}  // namespace

std::vector<const Graph*> SizesOf(const Model& model) {
  std::vector<const Graph*> sizes;
  for (const ModelEntry& entry : model.entries) {
    if (entry.is_size()) sizes.push_back(&entry.graph);
  }
  return sizes;
}

absl::StatusOr<TrainingData> ReadData(const RunSpec& spec, const Graph& graph, const DataRequest& request) {
  const absl::StatusOr<int64_t> rows = BatchRows(graph);
  if (!rows.ok()) return WithContext(spec.model().graph(), rows.status());
  if (spec.dataset().mock_data()) {
    RETURN_IF_ERROR(CheckNoPictures(spec, request));
    RETURN_IF_ERROR(CheckNoPairs(spec));
    return MockData(spec, graph, request);
  }
  const std::string path = spec.dataset().has_data() ? spec.dataset().data() : kFashionMnistFolder;
  ASSIGN_OR_RETURN(TrainingData data, DataOf(path, spec, graph, request));
  RETURN_IF_ERROR(CheckNeeds(path, request, data));
  return data;
}

}  // namespace partita
