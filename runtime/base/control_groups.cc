#include <fstream>
#include <set>

#include "runtime/base/memory.h"

namespace partita {
namespace {

constexpr char kMount[] = "/sys/fs/cgroup";

void AddGroups(int version, const std::string& mount, std::string path, std::vector<ControlGroup>& groups) {
  while (path.ends_with('/')) path.pop_back();
  while (true) {
    groups.push_back({version, path, mount + path});
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(const std::string& controller, const std::string& root) {
  const std::string mount = root + kMount;
  std::vector<ControlGroup> groups;
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // "number:controllers:path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) AddGroups(2, mount, path, groups);
    if (("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
    // By itself, or with those that are mounted beside it.
    for (const std::string& name : std::set<std::string>{controller, controllers}) {
      AddGroups(1, mount + "/" + name, path, groups);
    }
  }
  return groups;
}

}  // namespace partita
