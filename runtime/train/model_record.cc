#include "runtime/train/model_record.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "ops/values/learning_rate.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/name_list.h"

namespace partita {
namespace {

constexpr char kImages[] = "partita.images";
constexpr char kClasses[] = "partita.classes";
constexpr char kClassNames[] = "partita.class_names";
constexpr char kMean[] = "partita.mean";
constexpr char kDeviation[] = "partita.deviation";
constexpr char kResize[] = "partita.resize";
// With the name of an input behind them.
constexpr char kScaleOf[] = "partita.scale.";
constexpr char kMeanOf[] = "partita.mean.";
constexpr char kDeviationOf[] = "partita.deviation.";
constexpr char kStep[] = "partita.step";
constexpr char kRun[] = "partita.run.";
constexpr char kRecipe[] = "partita.recipe.";
constexpr char kBest[] = "partita.best.";
constexpr char kStagnation[] = "partita.stagnation.";
constexpr char kPlateau[] = "partita.plateau.";
constexpr char kEpochs[] = "epochs";  // behind the two

constexpr char kAccuracy[] = "accuracy";
constexpr char kLoss[] = "loss";
constexpr int64_t kMostSteps = int64_t{1} << 53;
constexpr int64_t kLargestSize = int64_t{1} << 31;
constexpr size_t kMostNumbers = size_t{1} << 20;  // of a list: sizes of a last dimension

// Reads texts of one file's metadata as what they stand for.
class Reader {
 public:
  Reader(const std::string& path, const Metadata& metadata) : path_(path), metadata_(metadata) {}

  bool Has(const std::string& key) const { return metadata_.contains(key); }

  absl::StatusOr<std::vector<double>> Numbers(const std::string& key) const { return List<double>(key, "a number"); }
  // One, which is finite.
  absl::StatusOr<double> Number(const std::string& key) const {
    ASSIGN_OR_RETURN(const std::vector<double> list, Numbers(key));
    if (list.size() == 1 && std::isfinite(list[0])) return list[0];
    return InvalidArgument("{}: metadata {}: found {}, allowed is one finite number", path_, key,
                           list.size() == 1 ? fmt::to_string(list[0]) : fmt::format("{} numbers", list.size()));
  }
  absl::StatusOr<std::vector<int64_t>> Wholes(const char* key, int64_t least, int64_t most) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> list, List<int64_t>(key, "a whole number"));
    for (const int64_t number : list) {
      if (number < least || number > most) {
        return InvalidArgument("{}: metadata {}: found {}, allowed are {} to {}", path_, key, number, least, most);
      }
    }
    return list;
  }
  absl::StatusOr<int64_t> Whole(const char* key, int64_t least, int64_t most) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> list, Wholes(key, least, most));
    if (list.size() == 1) return list[0];
    return InvalidArgument("{}: metadata {}: found {} numbers, allowed is one", path_, key, list.size());
  }

  absl::StatusOr<std::vector<std::string>> Names(const std::string& key) const {
    const std::string& text = metadata_.at(key);
    std::optional<std::vector<std::string>> names = SplitNames(text);
    if (names) return *std::move(names);
    return InvalidArgument("{}: metadata {}: found {}, allowed are names with slashes between", path_, key,
                           Printable(text));
  }

  // The texts whose keys begin with `prefix`, under the rest of their keys.
  Settings Named(std::string_view prefix) const {
    Settings settings;
    for (const auto& [key, text] : metadata_) {
      if (key.starts_with(prefix)) settings[key.substr(prefix.size())] = text;
    }
    return settings;
  }

 private:
  // Numbers between commas, and nothing else.
  template <typename T>
  absl::StatusOr<std::vector<T>> List(const std::string& key, const char* what) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) {
      return InvalidArgument("{}: metadata {}: not found, though the file has other keys that go with it", path_, key);
    }
    std::vector<T> list;
    const char* next = found->second.data();
    const char* const end = next + found->second.size();
    while (true) {
      T number{};
      const auto [behind, error] = std::from_chars(next, end, number);
      if (error != std::errc() || (behind != end && *behind != ',') || list.size() == kMostNumbers) {
        return InvalidArgument("{}: metadata {}: found {}, allowed is {}, or up to {} of them with commas between",
                               path_, key, Printable(found->second), what, kMostNumbers);
      }
      list.push_back(number);
      if (behind == end) return list;
      next = behind + 1;
    }
  }

  const std::string& path_;
  const Metadata& metadata_;
};

absl::StatusOr<Preprocessing> ReadPreprocessing(const std::string& path, const Reader& reader) {
  Preprocessing preprocessing;
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, reader.Wholes(kImages, 1, kLargestSize));
  if (sizes.size() != 3) {
    return InvalidArgument("{}: metadata {}: found {} numbers, allowed are 3: height, width, channels", path, kImages,
                           sizes.size());
  }
  preprocessing.images = {sizes[0], sizes[1], sizes[2]};
  ASSIGN_OR_RETURN(preprocessing.classes, reader.Whole(kClasses, 1, kLargestSize));
  ASSIGN_OR_RETURN(preprocessing.normalization.mean, reader.Numbers(kMean));
  ASSIGN_OR_RETURN(preprocessing.normalization.deviation, reader.Numbers(kDeviation));
  RETURN_IF_ERROR(WithContext(fmt::format("{}: metadata {} and {}", path, kMean, kDeviation),
                              CheckNormalization(preprocessing.normalization, preprocessing.images.channels)));
  if (reader.Has(kResize)) {
    ASSIGN_OR_RETURN(preprocessing.resize, reader.Whole(kResize, 1, kLargestSize));
  }
  if (reader.Has(kClassNames)) {
    ASSIGN_OR_RETURN(preprocessing.class_names, reader.Names(kClassNames));
    const auto found = static_cast<int64_t>(preprocessing.class_names.size());
    if (found > preprocessing.classes) {
      return InvalidArgument("{}: metadata {}: found {} names, there are {} classes", path, kClassNames, found,
                             preprocessing.classes);
    }
  }
  return preprocessing;
}

// None where the file has none. `prefix`: of the key, before the metric's name.
absl::StatusOr<std::optional<BestScore>> ReadScore(const Reader& reader, const std::string& prefix) {
  std::optional<BestScore> score;
  for (const char* metric : {kAccuracy, kLoss}) {
    if (!reader.Has(prefix + metric)) continue;
    ASSIGN_OR_RETURN(const double value, reader.Number(prefix + metric));
    score = {metric, value};
  }
  return score;
}

absl::StatusOr<std::optional<Stagnation>> ReadStagnation(const Reader& reader, const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::optional<BestScore> best, ReadScore(reader, prefix));
  if (!best) return std::nullopt;
  ASSIGN_OR_RETURN(const int64_t epochs, reader.Whole((prefix + kEpochs).c_str(), 0, kMostSteps));
  return Stagnation{*best, epochs};
}

absl::StatusOr<TrainingPosition> ReadPosition(const Reader& reader) {
  TrainingPosition position;
  ASSIGN_OR_RETURN(position.step, reader.Whole(kStep, 0, kMostSteps));
  position.run = reader.Named(kRun);
  position.recipe = reader.Named(kRecipe);
  ASSIGN_OR_RETURN(position.best, ReadScore(reader, kBest));
  ASSIGN_OR_RETURN(position.stagnation, ReadStagnation(reader, kStagnation));
  ASSIGN_OR_RETURN(position.plateau, ReadStagnation(reader, kPlateau));
  return position;
}

absl::StatusOr<ByteScales> ReadScales(const std::string& path, const Reader& reader) {
  ByteScales scales;
  for (const char* const prefix : {kMeanOf, kDeviationOf}) {
    for (const auto& [input, ignored] : reader.Named(prefix)) {
      ByteScale& scale = scales[input];
      ASSIGN_OR_RETURN(scale.mean, reader.Numbers(kMeanOf + input));
      ASSIGN_OR_RETURN(scale.deviation, reader.Numbers(kDeviationOf + input));
    }
  }
  for (const auto& [input, ignored] : reader.Named(kScaleOf)) {
    ASSIGN_OR_RETURN(scales[input].scale, reader.Number(kScaleOf + input));
  }
  for (const auto& [input, scale] : scales) {
    const std::string keys = scale.scale ? kScaleOf + input : kMeanOf + input + " and " + kDeviationOf + input;
    RETURN_IF_ERROR(WithContext(fmt::format("{}: metadata {}", path, keys), CheckByteScale(scale, scale.mean.size())));
  }
  return scales;
}

std::string Sizes(const ImageShape& shape) {
  return fmt::format("{} x {} x {}", shape.height, shape.width, shape.channels);
}

std::optional<std::string> Find(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

std::string Said(const std::optional<std::string>& setting) { return setting ? Printable(*setting) : "none"; }

std::string TextOf(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, ToString(value));
  }
  return text;
}

// With the defaults of what the model does not say.
std::string TextOf(const Optimizer& optimizer, const Optimizers& optimizers) {
  const absl::StatusOr<Optimizer> complete = CompleteOptimizer(optimizer, optimizers);
  return fmt::format("{} clip_norm={}", TextOf(complete.ok() ? complete->attributes : optimizer.attributes),
                     optimizer.clip_norm);
}

// The length of the run counts only where the schedule depends on it.
std::string TextOf(LearningRate rate) {
  if (!NeedsSteps(rate)) rate.steps = 0;
  return TextOf(AttributesOf(rate));
}

void AddStagnation(const std::optional<Stagnation>& stagnation, const std::string& prefix, Metadata& metadata) {
  if (!stagnation) return;
  metadata[prefix + stagnation->best.metric] = fmt::format("{}", stagnation->best.value);
  metadata[prefix + kEpochs] = fmt::to_string(stagnation->epochs);
}

}  // namespace

bool BestScore::IsBeatenBy(const BestScore& other) const {
  if (metric != other.metric) return true;
  return metric == kAccuracy ? other.value > value : other.value < value;
}

void AddRecipe(const Model& model, const Optimizers& optimizers, TrainingPosition& position) {
  const OptimizerDefinition* const known = FindOptimizer(model.optimizer.name, optimizers);
  position.run["optimizer"] = known == nullptr ? model.optimizer.name : known->name;
  position.recipe["learning_rate"] = TextOf(model.learning_rate);
  position.recipe["optimizer"] = TextOf(model.optimizer, optimizers);
}

Metadata ToMetadata(const ModelRecord& record) {
  Metadata metadata;
  if (record.preprocessing) {
    const auto& [images, classes, normalization, resize, class_names] = *record.preprocessing;
    metadata[kImages] = fmt::format("{},{},{}", images.height, images.width, images.channels);
    metadata[kClasses] = fmt::to_string(classes);
    metadata[kMean] = fmt::format("{}", fmt::join(normalization.mean, ","));
    metadata[kDeviation] = fmt::format("{}", fmt::join(normalization.deviation, ","));
    if (resize != 0) metadata[kResize] = fmt::to_string(resize);
    if (!class_names.empty()) metadata[kClassNames] = JoinNames(class_names);
  }
  for (const auto& [input, scale] : record.scales) {
    if (scale.scale) {
      metadata[kScaleOf + input] = fmt::to_string(*scale.scale);
      continue;
    }
    metadata[kMeanOf + input] = fmt::format("{}", fmt::join(scale.mean, ","));
    metadata[kDeviationOf + input] = fmt::format("{}", fmt::join(scale.deviation, ","));
  }
  if (record.training) {
    metadata[kStep] = fmt::to_string(record.training->step);
    for (const auto& [name, text] : record.training->run) metadata[kRun + name] = text;
    for (const auto& [name, text] : record.training->recipe) metadata[kRecipe + name] = text;
    if (const auto& best = record.training->best) metadata[kBest + best->metric] = fmt::format("{}", best->value);
    AddStagnation(record.training->stagnation, kStagnation, metadata);
    AddStagnation(record.training->plateau, kPlateau, metadata);
  }
  return metadata;
}

absl::StatusOr<ModelRecord> ReadRecord(const std::string& path, const Metadata& metadata) {
  const Reader reader(path, metadata);
  ModelRecord record;
  if (reader.Has(kImages) || reader.Has(kClasses) || reader.Has(kMean) || reader.Has(kDeviation) ||
      reader.Has(kClassNames)) {
    ASSIGN_OR_RETURN(record.preprocessing, ReadPreprocessing(path, reader));
  }
  ASSIGN_OR_RETURN(record.scales, ReadScales(path, reader));
  if (reader.Has(kStep)) {
    ASSIGN_OR_RETURN(record.training, ReadPosition(reader));
  }
  return record;
}

absl::Status CheckSameRun(const std::string& path, const TrainingPosition& saved, const Settings& run) {
  std::string before, now;
  for (const auto& [name, was] : saved.run) {
    const std::optional<std::string> is = Find(run, name);
    if (was == is) continue;
    before += fmt::format("{}{} {}", before.empty() ? "" : ", ", Printable(name), Printable(was));
    now += fmt::format("{}{} {}", now.empty() ? "" : ", ", Printable(name), Said(is));
  }
  if (before.empty()) return absl::OkStatus();
  return InvalidArgument("{}: its training, which has come to step {}, had {}; this run has {}", path, saved.step,
                         before, now);
}

absl::Status CheckSameImages(const std::string& path, const Preprocessing& saved, const std::string& source,
                             const ImageShape& images, int64_t classes, bool flat) {
  const bool same = flat ? images.elements() == saved.images.elements() : images == saved.images;
  if (!same) {
    return InvalidArgument("{}: the images are {}; {} was trained on images of {}", source, Sizes(images), path,
                           Sizes(saved.images));
  }
  if (classes == saved.classes) return absl::OkStatus();
  return InvalidArgument("{}: the graph tells {} classes apart; the model was trained for {}", path, classes,
                         saved.classes);
}

}  // namespace partita
