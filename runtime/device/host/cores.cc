#include "runtime/device/host/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>

#include "runtime/base/memory.h"

namespace partita {
namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

// The whole of `word` as a number greater than 0; else nothing: "max", -1 and what nobody can read limit nothing.
std::optional<double> Positive(const std::string& word) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number <= 0) return std::nullopt;
  return static_cast<double>(number);
}

// The first `count` words of a file; fewer if it has fewer.
std::vector<std::string> WordsOf(const std::string& path, size_t count) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string word; words.size() < count && file >> word;) words.push_back(word);
  return words;
}

std::optional<double> Share(const std::string& quota, const std::string& period) {
  const std::optional<double> microseconds = Positive(quota), of = Positive(period);
  if (!microseconds || !of) return std::nullopt;
  return *microseconds / *of;
}

std::optional<double> Quota2(const std::string& folder) {  // cpu.max: "200000 100000"
  std::vector<std::string> words = WordsOf(folder + "/cpu.max", 2);
  words.resize(2);
  return Share(words[0], words[1]);
}

std::optional<double> Quota1(const std::string& folder) {
  std::vector<std::string> quota = WordsOf(folder + "/cpu.cfs_quota_us", 1);
  std::vector<std::string> period = WordsOf(folder + "/cpu.cfs_period_us", 1);
  if (quota.empty() || period.empty()) return std::nullopt;
  return Share(quota[0], period[0]);
}

std::optional<double> QuotaOf(const std::string& root) {
  std::optional<double> least;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    const std::optional<double> quota = group.version == 2 ? Quota2(group.folder) : Quota1(group.folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

}  // namespace

int Processors::usable() const {
  double most = allowed.empty() ? online : static_cast<double>(allowed.size());
  if (quota) most = std::min(most, std::ceil(*quota));
  return std::max(1, static_cast<int>(most));
}

Processors FindProcessors(const std::string& root) {
  Processors found;
  found.online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  found.allowed = AllowedCores();
  found.quota = QuotaOf(root);
  return found;
}

int UsableCores() { return FindProcessors().usable(); }

std::vector<int> AllowedCores() {
  constexpr int kMost = 1 << 20;                            // far beyond what Linux can be built for
  for (int size = CPU_SETSIZE; size <= kMost; size *= 2) {  // EINVAL: the machine has more than `size`
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(size));
    if (set == nullptr) return {};
    const size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      std::vector<int> cores;
      for (int core = 0; core < size; ++core) {
        if (CPU_ISSET_S(core, bytes, set.get())) cores.push_back(core);
      }
      return cores;
    }
    if (errno != EINVAL) return {};
  }
  return {};
}

std::vector<int> ShareOf(std::span<const int> cores, int place, int shares) {
  const size_t begin = cores.size() * place / shares, end = (cores.size() * (place + 1) + shares - 1) / shares;
  return {cores.begin() + begin, cores.begin() + end};
}

}  // namespace partita
