#include "tools/program/version/version.h"

#include <absl/base/config.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <spdlog/version.h>
#include <zlib.h>

namespace partita {

std::map<std::string, std::string> LibraryVersions() {
  return {
      {"abseil", fmt::format("{}.{}", ABSL_LTS_RELEASE_VERSION, ABSL_LTS_RELEASE_PATCH_LEVEL)},
      {"compiler", fmt::format("gcc {}", __VERSION__)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
      {"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"zlib", zlibVersion()},
  };
}

}  // namespace partita
