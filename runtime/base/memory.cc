#include "runtime/base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// The names of one version's files. Both count pages of files as used, which would make a reader of files look full.
struct Version {
  const char* limit;
  const char* used;
  const char* file_pages[2];
};
constexpr Version kVersion2 = {"memory.max", "memory.current", {"active_file", "inactive_file"}};
constexpr Version kVersion1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};

// Nothing where there is no such file, or it says "max".
std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Lines "name number" or "name: number kB"; the units are left to the caller.
std::map<std::string, int64_t> ReadTable(const std::string& path) {
  std::map<std::string, int64_t> table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t number = 0;
    if (!(words >> name >> number)) continue;
    if (name.ends_with(':')) name.pop_back();
    table[name] = number;
  }
  return table;
}

HostMemory OfMachine(const std::string& root) {
  std::map<std::string, int64_t> table = ReadTable(root + "/proc/meminfo");
  constexpr int64_t kKiB = 1024;
  if (table.contains("MemTotal")) return {table["MemAvailable"] * kKiB, table["MemTotal"] * kKiB};
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {sysconf(_SC_AVPHYS_PAGES) * page, sysconf(_SC_PHYS_PAGES) * page};
}

void LimitToGroup(const std::string& folder, const Version& version, HostMemory& memory) {
  const std::optional<int64_t> limit = ReadNumber(folder + "/" + version.limit);
  const std::optional<int64_t> used = ReadNumber(folder + "/" + version.used);
  if (!limit || !used) return;
  std::map<std::string, int64_t> pages = ReadTable(folder + "/memory.stat");
  const int64_t given_back = std::min(*used, pages[version.file_pages[0]] + pages[version.file_pages[1]]);
  memory.free = std::min(memory.free, std::max<int64_t>(0, *limit - (*used - given_back)));
  memory.total = std::min(memory.total, *limit);
}

void LimitToAddressSpace(HostMemory& memory) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto most = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited));
  const int64_t taken = ReadNumber("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  memory.free = std::min(memory.free, std::max<int64_t>(0, most - taken));
  memory.total = std::min(memory.total, most);
}

}  // namespace

HostMemory MeasureMemory(const std::string& root) {
  HostMemory memory = OfMachine(root);
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    LimitToGroup(group.folder, group.version == 2 ? kVersion2 : kVersion1, memory);
  }
  return memory;
}

HostMemory MeasureMemory() {
  HostMemory memory = MeasureMemory("");
  LimitToAddressSpace(memory);
  return memory;
}

absl::Status CheckMemory(const std::string& what, int64_t bytes) {
  constexpr int64_t kNotWorthAsking = int64_t{1} << 20;
  if (bytes <= kNotWorthAsking) return absl::OkStatus();
  const HostMemory memory = MeasureMemory();
  if (bytes <= memory.free) return absl::OkStatus();
  return ResourceExhausted("{}: {} bytes are needed; of {} that this process may use {} are free", what, bytes,
                           memory.total, memory.free);
}

}  // namespace partita
