#include "runtime/checkpoint/adapter_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/base/bf16.h"
#include "runtime/base/f16.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Json = nlohmann::json;

constexpr char kConfigFile[] = "adapter_config.json";
constexpr char kTensorsFile[] = "adapter_model.safetensors";
constexpr char kPrefix[] = "base_model.model.";
constexpr char kWrapped[] = ".base_layer.";  // a parameter of the adapted module itself
constexpr int64_t kLargestConfig = 4 << 20, kMostRank = 1 << 20;
constexpr int kDeepest = 16;  // levels of its JSON

// Settings of PEFT that change what is computed, and are not read where they are set.
constexpr const char* kOthers[] = {"use_dora",          "use_qalora",
                                   "use_bdlora",        "lora_bias",
                                   "layer_replication", "trainable_token_indices",
                                   "target_parameters", "alora_invocation_tokens"};

// Whether a setting says something: PEFT writes null, false and {} where it does not.
bool IsSet(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null() && *found != false && !(found->is_structured() && found->empty());
}

std::optional<double> NumberAt(const Json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// A regular expression that matches these names alone: names in a list would mean all that end in them too.
std::string TargetsOf(const std::vector<std::string>& modules) {
  std::string expression;
  for (const std::string& module : modules) {
    if (!expression.empty()) expression += '|';
    for (const char c : module) expression += c == '.' ? std::string("\\.") : std::string(1, c);
  }
  return expression;
}

absl::Status CheckFolder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  return InvalidArgument("{}: is no folder; expected one with {} and {}", folder, kConfigFile, kTensorsFile);
}

template <typename T>
T ElementAt(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

absl::StatusOr<AdapterFolder> AdapterFolder::Read(const std::string& folder) {
  RETURN_IF_ERROR(CheckFolder(folder));
  ASSIGN_OR_RETURN(SafetensorsFile file, LoadSafetensors(folder + "/" + kTensorsFile));
  return Of(folder, std::move(file));
}

absl::StatusOr<AdapterFolder> AdapterFolder::ReadOutline(const std::string& folder) {
  RETURN_IF_ERROR(CheckFolder(folder));
  ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(folder + "/" + kTensorsFile));
  return Of(folder, reader.header());
}

absl::StatusOr<AdapterFolder> AdapterFolder::Of(const std::string& folder, SafetensorsFile file) {
  AdapterFolder adapters(folder, std::move(file));
  RETURN_IF_ERROR(adapters.ReadConfig());
  RETURN_IF_ERROR(adapters.ReadNames());
  return adapters;
}

absl::Status AdapterFolder::ReadConfig() {
  const std::string path = path_ + "/" + kConfigFile;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLargestConfig));
  bool deep = false;
  const auto is_shallow = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kDeepest;
    return !deep;
  };
  const Json config = Json::parse(text, is_shallow, /*allow_exceptions=*/false);
  if (deep) return InvalidArgument("{}: JSON is nested more than {} levels deep", path, kDeepest);
  if (config.is_discarded() || !config.is_object()) return InvalidArgument("{}: found no JSON object", path);
  const auto kind = config.find("peft_type");
  if (kind == config.end() || *kind != "LORA") {
    return InvalidArgument("{}: peft_type is {}; expected \"LORA\"", path,
                           kind == config.end() ? "missing" : kind->dump());
  }
  for (const char* const key : kOthers) {
    if (IsSet(config, key)) return InvalidArgument("{}: {} is {}; expected none", path, key, config[key].dump());
  }
  for (const char* const key : {"rank_pattern", "alpha_pattern"}) {
    if (IsSet(config, key)) return InvalidArgument("{}: {} is set; expected one rank for all modules", path, key);
  }
  const std::optional<double> rank = NumberAt(config, "r"), alpha = NumberAt(config, "lora_alpha");
  if (!rank || *rank < 1 || *rank > kMostRank || *rank != std::floor(*rank)) {
    return InvalidArgument("{}: r is no rank; expected a whole number from 1 to {}", path, kMostRank);
  }
  if (!alpha || !std::isfinite(*alpha)) return InvalidArgument("{}: lora_alpha is no number", path);
  rank_ = static_cast<int64_t>(*rank);
  alpha_ = IsSet(config, "use_rslora") ? *alpha * std::sqrt(*rank) : *alpha;
  dropout_ = NumberAt(config, "lora_dropout").value_or(0);
  if (!(dropout_ >= 0 && dropout_ < 1))
    return InvalidArgument("{}: lora_dropout is {}; expected 0 to 1", path, dropout_);
  return absl::OkStatus();
}

absl::Status AdapterFolder::ReadNames() {
  for (const StoredTensor& tensor : file_.tensors()) {
    if (!tensor.name.starts_with(kPrefix) || tensor.name.find("lora_embedding") != std::string::npos) {
      return InvalidArgument("{}: tensor {}: expected {}MODULE{}, and others of linear layers", file_.path(),
                             Printable(tensor.name), kPrefix, kAdapterDown);
    }
    std::string name = tensor.name.substr(sizeof(kPrefix) - 1);
    if (const size_t wrapped = name.rfind(kWrapped); wrapped != std::string::npos) {
      name.replace(wrapped, sizeof(kWrapped) - 1, ".");
    }
    tensors_.emplace(std::move(name), tensor.name);
  }
  if (Modules().empty()) return InvalidArgument("{}: has no tensor MODULE{}", file_.path(), kAdapterDown);
  return absl::OkStatus();
}

std::vector<std::string> AdapterFolder::Modules() const {
  std::vector<std::string> modules;
  for (const auto& [name, stored] : tensors_) {
    if (name.ends_with(kAdapterDown)) modules.push_back(name.substr(0, name.size() - (sizeof(kAdapterDown) - 1)));
  }
  return modules;
}

absl::StatusOr<std::vector<double>> AdapterFolder::Values(const std::string& name,
                                                          std::span<const int64_t> shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return InvalidArgument("{}: has no tensor {}{}", file_.path(), kPrefix, name);
  const StoredTensor& tensor = *file_.Find(found->second);
  if (!std::ranges::equal(tensor.shape, shape)) {
    return InvalidArgument("{}: tensor {}: found [{}], needed is [{}]", file_.path(), Printable(tensor.name),
                           fmt::join(tensor.shape, ","), fmt::join(shape, ","));
  }
  const std::span<const std::byte> bytes = file_.Bytes(tensor);
  const std::string_view type = tensor.type->name;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == "F32") {
      values[i] = ElementAt<float>(bytes, i);
    } else if (type == "F64") {
      values[i] = ElementAt<double>(bytes, i);
    } else if (type == "BF16") {
      values[i] = static_cast<double>(ElementAt<Bf16>(bytes, i));
    } else if (type == "F16") {
      values[i] = static_cast<double>(static_cast<float>(ElementAt<F16>(bytes, i)));
    } else {
      return InvalidArgument("{}: tensor {}: is of type {}; expected F32, F64, BF16 or F16", file_.path(),
                             Printable(tensor.name), std::string(type));
    }
  }
  return values;
}

absl::Status SaveAdapterFolder(const std::string& folder, const AdapterConfig& config,
                               std::vector<NamedTensor> tensors) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidArgument("{}: cannot be made: {}", folder, error.message());
  for (NamedTensor& tensor : tensors) {
    const size_t end = tensor.name.rfind('.');
    const bool adapts = tensor.name.ends_with(kAdapterDown) || tensor.name.ends_with(kAdapterUp);
    const bool wrapped = !adapts && end != std::string::npos &&
                         std::ranges::find(config.modules, tensor.name.substr(0, end)) != config.modules.end();
    if (wrapped) tensor.name.replace(end, 1, kWrapped);
    tensor.name = kPrefix + tensor.name;
  }
  RETURN_IF_ERROR(SaveSafetensors(folder + "/" + kTensorsFile, tensors, {}));
  const bool is_whole = config.alpha == std::floor(config.alpha) && std::abs(config.alpha) < kMostRank;
  const Json json = {{"peft_type", "LORA"},
                     {"r", config.rank},
                     {"lora_alpha", is_whole ? Json(static_cast<int64_t>(config.alpha)) : Json(config.alpha)},
                     {"lora_dropout", config.dropout},
                     {"target_modules", TargetsOf(config.modules)},
                     {"modules_to_save", config.whole.empty() ? Json() : Json(config.whole)},
                     {"bias", config.biases ? "lora_only" : "none"},
                     {"fan_in_fan_out", !config.transposed},
                     {"inference_mode", true},
                     {"task_type", nullptr},
                     {"base_model_name_or_path", nullptr}};
  return WriteFileAtomically(folder + "/" + kConfigFile, json.dump(2) + "\n");
}

}  // namespace partita
