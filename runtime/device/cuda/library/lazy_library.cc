#include "runtime/device/cuda/library/lazy_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/base/status.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> SplitPath(const char* text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char* c = text == nullptr ? "" : text;; ++c) {
    if (*c != ':' && *c != '\0') {
      part += *c;
      continue;
    }
    if (!part.empty()) parts.push_back(part);
    part.clear();
    if (*c == '\0') return parts;
  }
}

// The folders in `folder`, sorted; none if it cannot be read.
std::vector<fs::path> Folders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

void AddPackages(const fs::path& packages, const std::string& file, std::vector<std::string>& candidates) {
  for (const fs::path& package : Folders(packages / "nvidia")) candidates.push_back((package / "lib" / file).string());
}

// Of a library that a wheel has brought: site-packages/partita/lib.
void AddNeighbours(const fs::path& own_folder, const std::string& file, std::vector<std::string>& candidates) {
  const fs::path packages = own_folder.parent_path().parent_path();
  const std::string name = packages.filename().string();
  if (name == "site-packages" || name == "dist-packages") AddPackages(packages, file, candidates);
}

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  return fs::absolute(info.dli_fname, error).parent_path().string();
}

void AddPythonEnvironment(const fs::path& root, const std::string& file, std::vector<std::string>& candidates) {
  for (const fs::path& version : Folders(root / "lib")) {
    if (version.filename().string().rfind("python3", 0) != 0) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      AddPackages(version / packages, file, candidates);
    }
  }
}

// The message of the last error of dlopen or dlsym.
std::string LoaderError() {
  const char* const message = dlerror();
  return message == nullptr ? "unknown reason" : message;
}

absl::StatusOr<void*> Open(const LibraryNames& names, const LibrarySearch& search) {
  std::string refused;
  for (const std::string& path : LibraryCandidates(names.file, search)) {
    const bool by_name = path.find('/') == std::string::npos;
    std::error_code error;
    if (!by_name && !fs::exists(path, error)) continue;
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const std::string why = LoaderError();
    if (!by_name && refused.empty()) refused = why;
  }
  if (!refused.empty()) return Unavailable("{} cannot be loaded: {}", names.name, refused);
  return Unavailable(
      "{} is missing: there is no {} beside the program, where the loader looks, in a CUDA toolkit or in a Python "
      "environment; PARTITA_CUDA_LIBRARIES may name its folder",
      names.name, names.file);
}

}  // namespace

LibrarySearch ThisProcess() {
  std::error_code error;
  return {std::getenv, fs::read_symlink("/proc/self/exe", error).parent_path().string(), OwnFolder()};
}

std::vector<std::string> LibraryCandidates(const std::string& file, const LibrarySearch& search) {
  std::vector<std::string> candidates;
  const auto in = [&](const fs::path& folder) { candidates.push_back((folder / file).string()); };
  for (const std::string& folder : SplitPath(search.variable("PARTITA_CUDA_LIBRARIES"))) in(folder);
  if (!search.program_folder.empty()) in(search.program_folder);
  if (!search.own_folder.empty() && search.own_folder != search.program_folder) in(search.own_folder);
  candidates.push_back(file);
  const char* const home = search.variable("CUDA_HOME");
  for (const std::string& toolkit : {std::string(home == nullptr ? "" : home), std::string("/usr/local/cuda")}) {
    if (toolkit.empty()) continue;
    in(fs::path(toolkit) / "lib64");
    in(fs::path(toolkit) / "lib");
  }
  AddNeighbours(search.own_folder, file, candidates);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* const root = search.variable(variable);
    if (root != nullptr) AddPythonEnvironment(root, file, candidates);
  }
  for (const fs::path folder : SplitPath(search.variable("PATH"))) {
    std::error_code error;
    if (!fs::exists(folder / "python3", error)) continue;
    AddPythonEnvironment(folder.parent_path() / "local", file, candidates);
    AddPythonEnvironment(folder.parent_path(), file, candidates);
  }
  return candidates;
}

absl::Status LoadLibrary(const LibraryNames& names, const std::vector<LibrarySlot>& slots,
                         const LibrarySearch& search) {
  ASSIGN_OR_RETURN(void* const library, Open(names, search));
  std::vector<void*> addresses;
  for (const LibrarySlot& slot : slots) {
    addresses.push_back(dlsym(library, slot.name));
    if (addresses.back() == nullptr) {
      const std::string why = LoaderError();
      dlclose(library);
      return Unavailable("{} is of another version than this program was built for: {}", names.name, why);
    }
  }
  for (size_t i = 0; i < slots.size(); ++i) *slots[i].place = addresses[i];
  return absl::OkStatus();
}

}  // namespace partita
