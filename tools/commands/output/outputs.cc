#include "tools/commands/output/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tools/program/exit_code.h"
#include "tools/program/flags.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

using google::protobuf::FieldDescriptor;

absl::Status CheckWritable(const std::string& flag, const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return FlagError("flag --{}: {} is a folder; a file is needed", flag, path.string());
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    return FlagError("flag --{}: {}: there is no folder {}", flag, path.string(), folder.string());
  }
  // A new file takes the place of an old one, so the folder must be writable; a pipe or device is written in place.
  const fs::path target = !fs::exists(status) || fs::is_regular_file(status) ? folder : path;
  if (access(target.c_str(), W_OK) == 0) return absl::OkStatus();
  return FlagError("flag --{}: {} cannot be written: {}", flag, path.string(), std::strerror(errno));
}

// As WriteFileAtomically has it, but before anything is computed.
absl::Status CheckNoLink(const std::string& flag, const fs::path& path) {
  std::error_code error;
  const std::string text = path.string();
  if (text.starts_with("/dev/") || text.starts_with("/proc/") || !fs::is_symlink(path, error)) return absl::OkStatus();
  return FlagError(
      "flag --{}: {} is a symbolic link; expected a file: outputs are not written through links, so give the path that "
      "it leads to",
      flag, text);
}

// What is there under both names, whatever links lead to it; else the same path.
bool AreSame(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) || a.lexically_normal() == b.lexically_normal();
}

// A path that no output may take, and what it is. A file of parameters may be trained on and replaced.
using Taken = std::pair<fs::path, std::string>;

std::vector<Taken> Inputs(const RunSpec& spec) {
  std::vector<Taken> inputs;
  if (spec.model().has_graph()) inputs.emplace_back(spec.model().graph(), "the graph");
  const FieldDescriptor* const replaced = ModelSpec::descriptor()->FindFieldByNumber(ModelSpec::kLoadFieldNumber);
  for (const auto& [flag, value] : GivenFlags(spec)) {
    if (flag.type != FlagType::kPath || flag.written || flag.path.back() == replaced) continue;
    inputs.emplace_back(value, fmt::format("that of --{}", flag.name));
  }
  return inputs;
}

// A run that repeats a report may write its own in place of it.
absl::Status CheckIsNotConfig(const RunSpec& spec, const FlagDefinition& flag, const fs::path& path) {
  const FieldDescriptor* const report = OutputSpec::descriptor()->FindFieldByNumber(OutputSpec::kReportFieldNumber);
  const std::string& config = spec.general().config();
  if (config.empty() || flag.path.back() == report || !AreSame(path, config)) return absl::OkStatus();
  return FlagError("flag --{}: {} is the same file as that of --config", flag.name, path.string());
}

// A name that promises another format is a mistake; one that promises none is not.
absl::Status CheckModelName(const std::string& flag, const fs::path& path) {
  const std::string endings[] = {".pt", ".pth", ".bin", ".ckpt", ".h5", ".onnx", ".npy", ".npz", ".pb", ".pbtxt"};
  if (std::ranges::find(endings, path.extension().string()) == std::end(endings)) return absl::OkStatus();
  return FlagError("flag --{}: {}: models are written as safetensors, whose names end in .safetensors", flag,
                   path.string());
}

}  // namespace

absl::Status CheckOutputs(const RunSpec& spec) {
  std::vector<Taken> taken = Inputs(spec);
  const FieldDescriptor* const output = PredictSpec::descriptor()->FindFieldByNumber(PredictSpec::kOutputFieldNumber);
  for (const auto& [flag, value] : GivenFlags(spec)) {
    const bool is_stdout = flag.path.back() == output && value == "-";
    if (!flag.written || is_stdout) continue;
    const fs::path path = value;
    RETURN_IF_ERROR(CheckWritable(flag.name, path));
    RETURN_IF_ERROR(CheckIsNotConfig(spec, flag, path));
    for (const auto& [other, what] : taken) {
      if (AreSame(path, other)) return FlagError("flag --{}: {} is the same file as {}", flag.name, value, what);
    }
    RETURN_IF_ERROR(CheckNoLink(flag.name, path));
    taken.emplace_back(path, fmt::format("that of --{}", flag.name));
  }
  if (spec.saving().has_save()) RETURN_IF_ERROR(CheckModelName("save", spec.saving().save()));
  if (spec.saving().has_save_best()) RETURN_IF_ERROR(CheckModelName("save-best", spec.saving().save_best()));
  return absl::OkStatus();
}

}  // namespace partita
