#include "runtime/api/job/choose_once.h"

#include <future>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace partita {
namespace {

// What rank 0 says begins with one of these.
constexpr char kWait = 'w', kFailed = 'f', kChosen = 'c';

absl::Status Say(Job& job, const std::string& text) {
  return job.AllGather({MessageKind::kKernelChoice, text}).status();
}

absl::Status ChooseForAll(Job& job, KernelLibrary& kernels, const std::function<absl::Status()>& choose,
                          std::chrono::milliseconds still_at_it) {
  std::future<absl::Status> choosing = std::async(std::launch::async, choose);
  absl::Status heard;
  while (choosing.wait_for(still_at_it) != std::future_status::ready) {
    if (heard.ok()) heard = Say(job, std::string(1, kWait));
  }
  const absl::Status chosen = choosing.get();
  RETURN_IF_ERROR(heard);
  heard = Say(job, chosen.ok() ? kChosen + kernels.Choices() : kFailed + std::string(chosen.message()));
  return chosen.ok() ? heard : chosen;
}

absl::Status ChooseAsToldBy0(Job& job, KernelLibrary& kernels, const std::function<absl::Status()>& choose) {
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<std::string> all, job.AllGather({MessageKind::kKernelChoice, ""}));
    if (all.empty() || all[0].empty()) return Unavailable("rank 0 does not say which kernels it has chosen");
    const std::string rest = all[0].substr(1);
    if (all[0][0] == kWait) continue;
    if (all[0][0] != kChosen) return Unavailable("rank 0 could not choose kernels: {}", rest);
    RETURN_IF_ERROR(WithContext("kernels chosen by rank 0", kernels.Adopt(rest)));
    return choose();
  }
}

}  // namespace

absl::Status ChooseOnce(Job& job, KernelLibrary& kernels, const std::function<absl::Status()>& choose,
                        std::chrono::milliseconds still_at_it) {
  return job.ranks().front() == 0 ? ChooseForAll(job, kernels, choose, still_at_it)
                                  : ChooseAsToldBy0(job, kernels, choose);
}

}  // namespace partita
