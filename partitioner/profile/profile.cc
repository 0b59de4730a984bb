#include "partitioner/profile/profile.h"

#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckPositive(const char* field, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return InvalidArgument("field {} is {}; a number greater than 0 is needed", field, value);
}

absl::Status CheckNotNegative(const char* field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidArgument("field {} is {}; 0 or more is allowed", field, value);
}

absl::Status CheckLeast(const char* field, int value, int least) {
  if (value >= least) return absl::OkStatus();
  return InvalidArgument("field {} is {}; {} or more is allowed", field, value, least);
}

absl::Status CheckKernel(const KernelTime& kernel) {
  if (kernel.signature.empty()) return InvalidArgument("field signature is empty");
  RETURN_IF_ERROR(CheckLeast("ranks", kernel.ranks, 1));
  RETURN_IF_ERROR(CheckPositive("seconds", kernel.seconds));
  return CheckNotNegative("spread", kernel.spread);
}

absl::Status CheckCollective(const CollectiveTime& time) {
  RETURN_IF_ERROR(CheckLeast("ranks", time.ranks, 2));
  RETURN_IF_ERROR(CheckNotNegative("alpha_seconds", time.fit.cost.alpha));
  RETURN_IF_ERROR(CheckNotNegative("beta_seconds", time.fit.cost.beta));
  if (std::isfinite(time.fit.r_squared) && time.fit.r_squared <= 1) return absl::OkStatus();
  return InvalidArgument("field r_squared is {}; at most 1 is allowed", time.fit.r_squared);
}

std::string NameOf(const CollectiveTime& time) {
  return fmt::format("collective {} of {} {}", Name(time.kind), time.ranks, time.processes ? "processes" : "threads");
}

absl::Status CheckSlowdown(const Slowdown& slowdown) {
  const auto alone = slowdown.find(1);
  if (alone == slowdown.end() || alone->second != 1) {
    return InvalidArgument("shared_cores: that of 1 rank {}; a slowdown of 1 is needed",
                           alone == slowdown.end() ? "is missing" : fmt::format("is {}", alone->second));
  }
  for (const auto& [ranks, times] : slowdown) {
    const std::string where = "shared_cores of " + Counted(ranks, "rank");
    RETURN_IF_ERROR(WithContext(where, CheckLeast("ranks", ranks, 1)));
    RETURN_IF_ERROR(WithContext(where, CheckPositive("slowdown", times)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckProfile(const Profile& profile) {
  RETURN_IF_ERROR(CheckSlowdown(profile.slowdown));
  std::set<std::pair<std::string, int>> kernels;
  for (const KernelTime& kernel : profile.kernels) {
    const std::string name = fmt::format("kernel {}", Quoted(kernel.signature));
    RETURN_IF_ERROR(WithContext(name, CheckKernel(kernel)));
    if (kernels.emplace(kernel.signature, kernel.ranks).second) continue;
    return InvalidArgument("{}: beside {} it is there twice; once is allowed", name, Counted(kernel.ranks, "rank"));
  }
  std::set<std::tuple<CollectiveKind, int, bool>> collectives;
  for (const CollectiveTime& time : profile.collectives) {
    RETURN_IF_ERROR(WithContext(NameOf(time), CheckCollective(time)));
    if (collectives.emplace(time.kind, time.ranks, time.processes).second) continue;
    return InvalidArgument("{}: it is there twice; once is allowed", NameOf(time));
  }
  return absl::OkStatus();
}

absl::Status CheckKey(const ProfileKey& profile, const ProfileKey& here) {
  if (profile.device != here.device) {
    return InvalidArgument("field device is {}, here is {}; a profile is of the machine that it was measured on",
                           Quoted(profile.device), Quoted(here.device));
  }
  for (const auto& [name, version] : here.libraries) {
    const auto found = profile.libraries.find(name);
    const std::string measured = found == profile.libraries.end() ? "" : found->second;
    if (measured == version) continue;
    return InvalidArgument("field libraries: {} is {}, here is {}; measure again", name, Quoted(measured),
                           Quoted(version));
  }
  return absl::OkStatus();
}

KernelTimes KernelTimesFor(const Profile& profile, int ranks) {
  std::map<std::string, const KernelTime*> nearest;
  for (const KernelTime& kernel : profile.kernels) {
    const KernelTime*& best = nearest[kernel.signature];
    const bool nearer = best == nullptr || std::abs(kernel.ranks - ranks) < std::abs(best->ranks - ranks);
    if (nearer) best = &kernel;
  }
  const double slowdown = SlowdownOf(profile.slowdown, ranks);
  KernelTimes times;
  for (const auto& [signature, kernel] : nearest) {
    times[signature] = kernel->seconds * slowdown / SlowdownOf(profile.slowdown, kernel->ranks);
  }
  return times;
}

// An all_reduce of two ranks is two messages, in which all bytes pass a link once (docs/papers.md 13.1).
absl::StatusOr<Cluster> ClusterOf(const Profile& profile, bool processes) {
  ClusterDescription machine = profile.machine;
  for (DeviceKind& kind : machine.kinds) {
    if (kind.cores_shared && profile.slowdown.size() > 1) kind.slowdown = profile.slowdown;
  }
  const auto pair = std::ranges::find_if(profile.collectives, [](const CollectiveTime& time) {
    return time.processes && time.kind == CollectiveKind::kAllReduce && time.ranks == 2 && time.fit.cost.beta > 0;
  });
  if (processes && pair != profile.collectives.end()) {
    for (DomainDescription& domain : machine.domains) {
      if (!domain.within) continue;
      domain.within->latency_seconds = pair->fit.cost.alpha / 2;
      domain.within->bytes_per_second = 1 / pair->fit.cost.beta;
    }
  }
  return MakeCluster(machine);
}

}  // namespace partita
