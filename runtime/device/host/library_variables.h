// The environment variables that linked libraries read by themselves, and what becomes of each.
//
// No variable may change what is computed, or write to standard output. A library that is linked into another program
// leaves that program's environment as it is: it pins through a library's API what can be pinned. Programs of ours
// start themselves again without the rest (tools/program/start/clean_start.h).
#ifndef PARTITA_RUNTIME_DEVICE_HOST_LIBRARY_VARIABLES_H_
#define PARTITA_RUNTIME_DEVICE_HOST_LIBRARY_VARIABLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

enum class VariableHandling : uint8_t {
  kPinned,   // it has no effect: every call that it could change says what it wants
  kDropped,  // programs start again without it; in another program's process it has its effect
  kKept,     // it has its effect
};

struct LibraryVariable {
  const char* name;  // "OMP_DYNAMIC"; "NCCL_*": every variable that begins with "NCCL_" and has no row of its own
  const char* library;
  VariableHandling handling;
  const char* reason;
};

std::span<const LibraryVariable> LibraryVariables();

// Null: no library reads it.
const LibraryVariable* FindLibraryVariable(std::string_view name);

struct FoundVariable {
  std::string name, value;
  const LibraryVariable* about;

  // "OMP_DYNAMIC=true (OpenMP): pinned: teams of kernels have a fixed size". Of a proxy without its value, which may
  // hold a password.
  std::string ToString() const;
};

// Those of an environment ("NAME=value", the last null) that a library reads, by name.
std::vector<FoundVariable> FindLibraryVariables(const char* const* environment);

// "pinned", "dropped", "kept".
const char* Name(VariableHandling handling);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_LIBRARY_VARIABLES_H_
