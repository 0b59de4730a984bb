#include "run/host/version.h"

#include <absl/base/config.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <jconfig.h>
#include <openssl/crypto.h>
#include <png.h>
#include <spdlog/version.h>
#include <xxhash.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "run/host/gpu_libraries.h"

// It has it as a number of three parts, not as text.
#define PARTITA_TEXT_OF(parts) #parts
#define PARTITA_VERSION_TEXT(version) PARTITA_TEXT_OF(version)

namespace partita {

namespace {

// oneDNN is asked as it was loaded. A program that does not link it (build_model, --config=tsan) has none.
std::optional<std::string> OneDnnVersion() {
  struct Version {  // the beginning of dnnl_version_t
    int major, minor, patch;
  };
  auto* const ask = reinterpret_cast<const Version* (*)()>(dlsym(RTLD_DEFAULT, "dnnl_version"));
  if (ask == nullptr) return std::nullopt;
  return fmt::format("{}.{}.{}", ask()->major, ask()->minor, ask()->patch);
}

}  // namespace

std::map<std::string, std::string> LibraryVersions() {
  std::map<std::string, std::string> versions = {
      {"abseil", fmt::format("{}.{}", ABSL_LTS_RELEASE_VERSION, ABSL_LTS_RELEASE_PATCH_LEVEL)},
      {"compiler", fmt::format("gcc {}", __VERSION__)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"libjpeg-turbo", PARTITA_VERSION_TEXT(LIBJPEG_TURBO_VERSION)},
      {"libpng", PNG_LIBPNG_VER_STRING},
      {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
      {"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"xxhash", fmt::format("{}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE)},
      {"zlib", zlibVersion()},
  };
  if (const auto version = OneDnnVersion()) versions["onednn"] = *version;
  versions.merge(GpuLibraryVersions());
  return versions;
}

}  // namespace partita
