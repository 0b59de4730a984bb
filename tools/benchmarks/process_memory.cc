#include "tools/benchmarks/process_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace partita {

ProcessMemory MemoryOf(pid_t process) {
  constexpr int64_t kKiB = 1024;
  ProcessMemory memory;
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {  // "VmRSS:      1234 kB"
    std::istringstream words(line);
    std::string name;
    int64_t number = 0;
    if (!(words >> name >> number)) continue;
    if (name == "VmRSS:") memory.now = number * kKiB;
    if (name == "VmHWM:") memory.most = number * kKiB;
  }
  return memory;
}

void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace partita
