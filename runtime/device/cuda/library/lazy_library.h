// Foreign libraries that a binary is not linked with: opened when they are needed, so that the same program starts on
// machines without them and says in one sentence what is missing.
//
// A library's functions are called through a table of pointers (or through jump stubs, where foreign headers call them
// by name). LoadLibrary fills it; a test fills it with its own functions.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_LIBRARY_LAZY_LIBRARY_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_LIBRARY_LAZY_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// A function's name in the library, and where its address goes.
struct LibrarySlot {
  const char* name;
  void** place;
};

struct LibraryNames {
  std::string name;  // for messages: "NCCL"
  std::string file;  // with its version, as the loader knows it: "libnccl.so.2"
};

// What the search looks at beyond the file system.
struct LibrarySearch {
  std::function<const char*(const char*)> variable;  // getenv
  std::string program_folder;                        // where the binary lies
  std::string own_folder = {};                       // where the library that has this code lies; may be the same
};
LibrarySearch ThisProcess();

// The paths that are tried for `file`, in order:
//   1. the folders in PARTITA_CUDA_LIBRARIES (separated by ':')
//   2. beside the binary and beside the library, then wherever the loader looks
//   3. the toolkit: lib64 and lib of CUDA_HOME, then of /usr/local/cuda
//   4. nvidia/*/lib in the site-packages or dist-packages where the library lies, as a wheel has it
//   5. Python environments: nvidia/*/lib in the site-packages and dist-packages of VIRTUAL_ENV, CONDA_PREFIX and each
//      `python3` in PATH, before these of the `local` beside it: Debian's /usr/bin/python3 has /usr/local/lib, where
//      its pip installs for all users
std::vector<std::string> LibraryCandidates(const std::string& file, const LibrarySearch& search);

// Opens the library and fills all slots, or none. It stays open until the process ends.
// kUnavailable: it was not found, does not load, or lacks a function (it is of another version); says where it looked.
absl::Status LoadLibrary(const LibraryNames& names, const std::vector<LibrarySlot>& slots,
                         const LibrarySearch& search = ThisProcess());

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_LIBRARY_LAZY_LIBRARY_H_
