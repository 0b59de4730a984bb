#include "run/beginning/temporary_weights.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/base/status.h"

namespace partita {

// A new folder of this process alone. Numbers of processes name none: containers that share /tmp have the same ones.
absl::StatusOr<std::shared_ptr<const TemporaryWeights>> TemporaryWeights::Make() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string folder = (parent / "partita-weights-XXXXXX").string();
  if (mkdtemp(folder.data()) != nullptr) return std::make_shared<const TemporaryWeights>(folder);
  return ResourceExhausted("{}: cannot make a folder for the weights: {}; set TMPDIR to another", parent.string(),
                           std::generic_category().message(errno));
}

TemporaryWeights::~TemporaryWeights() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace partita
