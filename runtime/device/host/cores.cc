#include "runtime/device/host/cores.h"

#include <sched.h>

namespace partita {

std::vector<int> AllowedCores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> ShareOf(std::span<const int> cores, int place, int shares) {
  const size_t begin = cores.size() * place / shares, end = (cores.size() * (place + 1) + shares - 1) / shares;
  return {cores.begin() + begin, cores.begin() + end};
}

}  // namespace partita
