#include "tests/fuzz/campaign.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "runtime/base/check.h"
#include "tests/fuzz/mutate.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

// Any reader is done long before, also one that is instrumented on a machine that is busy.
constexpr std::chrono::seconds kPatience(60);

// What the process that is fed and the one that watches it both see.
struct Shared {
  std::atomic<int64_t> fed = 0;  // inputs that were begun
  std::atomic<size_t> size = 0;  // of the last one
  char input[kLargestInput];
};

class SharedMemory {
 public:
  SharedMemory() : memory_(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    CHECK(memory_ != MAP_FAILED);
    new (memory_) Shared;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(memory_, sizeof(Shared)); }
  Shared& operator*() const { return *static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

void Feed(const FuzzTarget& target, const std::string& input, Shared& shared) {
  const size_t size = std::min(input.size(), kLargestInput);
  std::memcpy(shared.input, input.data(), size);
  shared.size = size;
  ++shared.fed;
  target.feed(input.substr(0, size));
}

[[noreturn]] void FeedAll(const FuzzTarget& target, const Campaign& campaign, Shared& shared) {
  const Mutator mutator(campaign.corpus, campaign.seed);
  for (const std::string& whole : campaign.corpus) Feed(target, whole, shared);
  for (int64_t number = 0; number < campaign.inputs; ++number) Feed(target, mutator.Make(number), shared);
  std::exit(0);
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

// How the process ended; empty: well.
std::string Watch(pid_t process, const Shared& shared, rusage& usage) {
  int64_t fed = -1;
  auto last = std::chrono::steady_clock::now();
  int status = 0;
  while (::wait4(process, &status, WNOHANG, &usage) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto now = std::chrono::steady_clock::now();
    if (shared.fed != fed) {
      fed = shared.fed;
      last = now;
    } else if (now - last > kPatience) {
      ::kill(process, SIGKILL);
      ::wait4(process, &status, 0, &usage);
      return "no answer for " + std::to_string(kPatience.count()) + " s";
    }
  }
  return status == 0 ? "" : HowItEnded(status);
}

}  // namespace

CampaignResult RunCampaign(const FuzzTarget& target, const Campaign& campaign) {
  const SharedMemory memory;
  Shared& shared = *memory;
  const pid_t process = ::fork();
  CHECK(process >= 0);
  if (process == 0) FeedAll(target, campaign, shared);
  rusage usage = {};
  const std::string how = Watch(process, shared, usage);
  CampaignResult result{shared.fed, int64_t{usage.ru_maxrss} << 10, {}};
  if (!how.empty()) result.breach = Breach{std::string(shared.input, shared.size), how};
  return result;
}

std::vector<std::string> ReadCorpus(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace partita
