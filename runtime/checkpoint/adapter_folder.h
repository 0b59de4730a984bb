// A folder with the adapters of a model alone, as PEFT writes and reads it: adapter_config.json and
// adapter_model.safetensors. Names of tensors are here those of the model, without PEFT's "base_model.model.".
#ifndef PARTITA_RUNTIME_CHECKPOINT_ADAPTER_FOLDER_H_
#define PARTITA_RUNTIME_CHECKPOINT_ADAPTER_FOLDER_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

inline constexpr char kAdapterDown[] = ".lora_A.weight";  // behind the name of the module
inline constexpr char kAdapterUp[] = ".lora_B.weight";

struct AdapterConfig {
  int64_t rank = 0;
  double alpha = 0;  // the adapters' product is multiplied by alpha / rank
  double dropout = 0;
  bool transposed = true;               // weights are [out, in]; false: fan_in_fan_out
  bool biases = false;                  // those of adapted modules are trained too
  std::vector<std::string> modules;     // with adapters
  std::vector<std::string> whole = {};  // modules that are trained as they are
};

class AdapterFolder {
 public:
  // kInvalidArgument: a file is missing or damaged; adapters of another kind than LoRA, of several ranks, or of tables.
  static absl::StatusOr<AdapterFolder> Read(const std::string& folder);
  // The same without the tensors' bytes: Values and Digest are not for it.
  static absl::StatusOr<AdapterFolder> ReadOutline(const std::string& folder);

  const std::string& path() const { return path_; }
  int64_t rank() const { return rank_; }
  double alpha() const { return alpha_; }
  double dropout() const { return dropout_; }
  std::vector<std::string> Modules() const;                                       // with adapters
  const std::map<std::string, std::string>& tensors() const { return tensors_; }  // by name here, the file's

  // kInvalidArgument: there is none of that name, or it has another shape or no floating type.
  absl::StatusOr<std::vector<double>> Values(const std::string& name, std::span<const int64_t> shape) const;
  std::string Digest() const { return file_.Digest(); }

 private:
  AdapterFolder(std::string path, SafetensorsFile file) : path_(std::move(path)), file_(std::move(file)) {}
  static absl::StatusOr<AdapterFolder> Of(const std::string& folder, SafetensorsFile file);
  absl::Status ReadConfig();
  absl::Status ReadNames();

  std::string path_;
  SafetensorsFile file_;
  int64_t rank_ = 0;
  double alpha_ = 0, dropout_ = 0;
  std::map<std::string, std::string> tensors_;
};

// `tensors`: by their names here. The folder is made if it is not there.
absl::Status SaveAdapterFolder(const std::string& folder, const AdapterConfig& config,
                               std::vector<NamedTensor> tensors);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_ADAPTER_FOLDER_H_
