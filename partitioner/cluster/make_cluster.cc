#include <algorithm>
#include <cmath>
#include <set>

#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "partitioner/cluster/cluster_description.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckPositive(const char* what, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return InvalidArgument("{} is {}; a number greater than 0 is needed", what, value);
}

absl::Status CheckLatency(const char* what, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidArgument("{} is {}; 0 or more is allowed", what, value);
}

absl::Status CheckLink(const std::optional<Link>& link) {
  if (!link) return absl::OkStatus();
  RETURN_IF_ERROR(CheckPositive("field bytes_per_second", link->bytes_per_second));
  RETURN_IF_ERROR(CheckLatency("field latency_seconds", link->latency_seconds));
  if (link->channels >= 1) return absl::OkStatus();
  return InvalidArgument("field channels is {}; 1 or more is allowed", link->channels);
}

absl::Status CheckGeneration(const DeviceKind& kind) {
  const bool host = kind.backend == BackendKind::kHost;
  if (host ? kind.compute_capability == 0 : kind.compute_capability >= 70) return absl::OkStatus();
  return InvalidArgument("field compute_capability is {}; {}", kind.compute_capability,
                         host ? "of the host it is unset" : "of a GPU 70 or more is needed");
}

absl::Status CheckModel(const DeviceKind& kind) {
  if (kind.backend == BackendKind::kCuda || kind.model.empty()) return absl::OkStatus();
  return InvalidArgument("field model is {}; of the host it is unset", Quoted(kind.model));
}

absl::Status CheckCores(const DeviceKind& kind) {
  if (kind.cores == 0 || (kind.cores > 0 && kind.cores_shared)) return absl::OkStatus();
  return InvalidArgument("field cores is {}; {}", kind.cores,
                         kind.cores < 0 ? "1 or more are allowed" : "it is for devices with cores_shared");
}

absl::Status CheckKind(const DeviceKind& kind) {
  RETURN_IF_ERROR(CheckPositive("field memory_bytes", static_cast<double>(kind.memory_bytes)));
  RETURN_IF_ERROR(CheckPositive("field bytes_per_second", kind.bytes_per_second));
  RETURN_IF_ERROR(CheckLatency("field launch_seconds", kind.launch_seconds));
  RETURN_IF_ERROR(CheckLatency("field wake_seconds", kind.wake_seconds));
  RETURN_IF_ERROR(CheckGeneration(kind));
  RETURN_IF_ERROR(CheckModel(kind));
  RETURN_IF_ERROR(CheckCores(kind));
  for (const auto& [dtype, rate] : kind.flops_per_second) {
    RETURN_IF_ERROR(WithContext(std::string("rate of ") + Name(dtype), CheckPositive("field flops_per_second", rate)));
  }
  for (const auto& [op, times] : kind.op_times) {
    RETURN_IF_ERROR(WithContext("op_times of " + Quoted(op), CheckPositive("field times", times)));
  }
  if (kind.flops_per_second.contains(DType::kF32)) return absl::OkStatus();
  return InvalidArgument("its rates lack f32; others may be missing");
}

absl::Status CheckName(const std::string& name, std::set<std::string>& names) {
  RETURN_IF_ERROR(WithContext("field name", CheckNodeName(name)));
  if (names.insert(name).second) return absl::OkStatus();
  return InvalidArgument("two have this name; one may");
}

class ClusterMaker {
 public:
  explicit ClusterMaker(const ClusterDescription& description) : description_(description) {}

  absl::StatusOr<Cluster> Make() {
    if (std::max(description_.kinds.size(), description_.domains.size()) > kMostRanks) {
      return InvalidArgument("it names {} kinds of devices and {} domains; at most {} of each are allowed",
                             description_.kinds.size(), description_.domains.size(), kMostRanks);
    }
    RETURN_IF_ERROR(CheckKinds());
    RETURN_IF_ERROR(CheckDomains());
    ASSIGN_OR_RETURN(const int root, Root());
    cluster_.name = description_.name;
    cluster_.kinds = description_.kinds;
    for (DeviceKind& kind : cluster_.kinds) {
      if (kind.cores > 0 && kind.slowdown.empty()) kind.slowdown = {{1, 1}, {kind.cores, 1}};
    }
    RETURN_IF_ERROR(Add(root, -1, description_.domains[root].name));
    RETURN_IF_ERROR(CheckReached());
    if (cluster_.devices.empty()) return InvalidArgument("no domain has devices; at least one device is needed");
    return std::move(cluster_);
  }

 private:
  absl::Status CheckKinds() {
    std::set<std::string> names;
    for (const DeviceKind& kind : description_.kinds) {
      absl::Status status = CheckName(kind.name, names);
      if (status.ok()) status = CheckKind(kind);
      RETURN_IF_ERROR(WithContext("device " + Quoted(kind.name), status));
      kind_names_.push_back(kind.name);
    }
    return absl::OkStatus();
  }

  absl::Status CheckDomains() {
    std::set<std::string> names;
    for (const DomainDescription& domain : description_.domains) {
      RETURN_IF_ERROR(WithContext("domain " + Quoted(domain.name), CheckName(domain.name, names)));
      domain_names_.push_back(domain.name);
    }
    for (const DomainDescription& domain : description_.domains) {
      RETURN_IF_ERROR(WithContext("domain " + Quoted(domain.name), CheckDomain(domain)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckDomain(const DomainDescription& domain) const {
    RETURN_IF_ERROR(WithContext("within", CheckLink(domain.within)));
    RETURN_IF_ERROR(WithContext("up", CheckLink(domain.up)));
    if (!domain.in.empty() && IndexOf(domain.in, domain_names_) < 0) {
      return InvalidArgument("it lies in {}, which there is not{}", Quoted(domain.in),
                             Suggestion(domain.in, domain_names_));
    }
    if (domain.devices < 0 || domain.count < 1) {
      return InvalidArgument("devices is {} and count is {}; 0 or more devices, 1 or more alike are allowed",
                             domain.devices, domain.count);
    }
    if (domain.in.empty() && domain.count > 1) {
      return InvalidArgument("count is {}, and it lies in no other; of the outermost domain there is one",
                             domain.count);
    }
    if (domain.device.empty() != (domain.devices == 0)) {
      return InvalidArgument("device is {} and devices is {}; both or neither are needed", Quoted(domain.device),
                             domain.devices);
    }
    if (!domain.device.empty() && IndexOf(domain.device, kind_names_) < 0) {
      return InvalidArgument("its device is {}, which there is not{}", Quoted(domain.device),
                             Suggestion(domain.device, kind_names_));
    }
    return CheckEnds(domain);
  }

  // Whether there are links where there is something to link.
  absl::Status CheckEnds(const DomainDescription& domain) const {
    int64_t members = domain.devices;
    for (const DomainDescription& other : description_.domains) members += other.in == domain.name ? other.count : 0;
    if (members > 1 && !domain.within) {
      return InvalidArgument("it has {} members, and field within is missing", members);
    }
    if (!domain.in.empty() && !domain.up) {
      return InvalidArgument("it lies in {}, and field up is missing", Quoted(domain.in));
    }
    if (!domain.in.empty() || !domain.up) return absl::OkStatus();
    return InvalidArgument("its link up leads nowhere, as it lies in no other; field in is missing, or up is too much");
  }

  absl::StatusOr<int> Root() const {
    int root = -1;
    for (size_t i = 0; i < description_.domains.size(); ++i) {
      if (!description_.domains[i].in.empty()) continue;
      if (root >= 0) {
        return InvalidArgument("domains {} and {} both lie in no other; one may", Quoted(domain_names_[root]),
                               Quoted(domain_names_[i]));
      }
      root = static_cast<int>(i);
    }
    if (root >= 0) return root;
    return InvalidArgument("no domain lies in no other; exactly one is needed");
  }

  absl::Status Add(int described, int parent, const std::string& name) {
    const DomainDescription& domain = description_.domains[described];
    reached_.insert(described);
    const int id = static_cast<int>(cluster_.domains.size());
    cluster_.domains.push_back({name, parent, domain.within.value_or(Link()), domain.up.value_or(Link())});
    // A domain without devices counts as one, so that a small file cannot ask for all memory.
    if (std::max(cluster_.domains.size(), cluster_.devices.size() + domain.devices) > kMostRanks) {
      return InvalidArgument("it has more than {} devices or domains; so many are allowed", kMostRanks);
    }
    const int kind = IndexOf(domain.device, kind_names_);
    cluster_.devices.insert(cluster_.devices.end(), domain.devices, ClusterDevice{kind, id});
    for (size_t i = 0; i < description_.domains.size(); ++i) {
      const DomainDescription& child = description_.domains[i];
      if (child.in != domain.name) continue;
      for (int c = 0; c < child.count; ++c) {
        RETURN_IF_ERROR(
            Add(static_cast<int>(i), id, child.count == 1 ? child.name : fmt::format("{}[{}]", child.name, c)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckReached() const {
    for (size_t i = 0; i < description_.domains.size(); ++i) {
      if (reached_.contains(static_cast<int>(i))) continue;
      return InvalidArgument("domain {} lies in {}, and so in itself; it must end in one that lies in no other",
                             Quoted(domain_names_[i]), Quoted(description_.domains[i].in));
    }
    return absl::OkStatus();
  }

  static int IndexOf(const std::string& name, const std::vector<std::string>& names) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  }

  const ClusterDescription& description_;
  std::vector<std::string> kind_names_, domain_names_;
  std::set<int> reached_;
  Cluster cluster_;
};

}  // namespace

absl::StatusOr<Cluster> MakeCluster(const ClusterDescription& description) { return ClusterMaker(description).Make(); }

}  // namespace partita
