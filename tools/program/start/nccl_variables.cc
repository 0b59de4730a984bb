#include "tools/program/start/nccl_variables.h"

#include <cstdlib>

namespace partita {

void KeepNcclFromStandardOutput() {
  if (std::getenv("NCCL_DEBUG") != nullptr) setenv("NCCL_DEBUG_FILE", "/dev/stderr", 0);
}

void ExcludeNvls() { setenv("NCCL_ALGO", "^NVLS,NVLSTree", 0); }

}  // namespace partita
