#include "run/job/launcher.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "run/job/job_token.h"
#include "run/spec/spec_error.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The variables of one launcher. An empty name: it has no such variable.
struct Source {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* inside;  // must be set as well, else the variables mean something else
};

constexpr char kKubernetes[] = "Kubernetes";
constexpr char kRankVariables[] = "the environment (RANK, WORLD_SIZE)";

constexpr Source kSources[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_RANK"},
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", ""},
    {"mpiexec (PALS)", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_RANK"},
    {"mpirun (MPICH)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ""},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
    // One process on each node; without LOCAL_RANK, RANK and WORLD_SIZE count pods.
    {kKubernetes, "PET_NODE_RANK", "PET_NNODES", "", ""},
    {kRankVariables, "RANK", "WORLD_SIZE", "", ""},
};

constexpr int kMostRanks = 4096, kLargestPort = 65534;  // torchrun's agent may have the one below

absl::StatusOr<int> Number(const std::string& name, const std::string& text, int least, int most) {
  const std::optional<int> value = NumberOf<int>(text);
  if (value && *value >= least && *value <= most) return *value;
  return FlagError("environment variable {} is '{}'; allowed are {} to {}", name, text, least, most);
}

bool IsThere(const Source& source, const Environment& environment) {
  return environment(source.rank) && environment(source.ranks) &&
         (*source.inside == '\0' || environment(source.inside));
}

absl::StatusOr<std::optional<JobPlace>> Read(const Source& source, const Environment& environment) {
  if (!IsThere(source, environment)) return std::nullopt;
  const auto rank = environment(source.rank), ranks = environment(source.ranks);
  JobPlace place;
  place.launcher = source.launcher;
  ASSIGN_OR_RETURN(place.ranks, Number(source.ranks, *ranks, 1, kMostRanks));
  ASSIGN_OR_RETURN(place.rank, Number(source.rank, *rank, 0, kMostRanks));
  if (place.rank >= place.ranks) {
    return FlagError("environment variables {}={} and {}={}: a rank must be below the number of ranks", source.rank,
                     *rank, source.ranks, *ranks);
  }
  const auto local = *source.local_rank == '\0' ? std::nullopt : environment(source.local_rank);
  if (local) {
    ASSIGN_OR_RETURN(place.local_rank, Number(source.local_rank, *local, 0, kMostRanks));
  }
  return place;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// `error`: what getaddrinfo says where there are none.
Addresses Resolve(const std::string& host, int flags, int& error) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  error = getaddrinfo(host.c_str(), "9", &hints, &found);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

std::string NumericText(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = "";
  getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return text;
}

// Of IPv4 where the host has one, else of IPv6.
absl::StatusOr<std::string> NumericAddress(const std::string& host, const NamePause& pause) {
  int error = 0;
  Addresses addresses = Resolve(host, 0, error);
  bool paused = false;
  while ((error == EAI_NONAME || error == EAI_AGAIN) && pause(host)) {
    paused = true;
    addresses = Resolve(host, 0, error);
  }
  if (error != 0 && paused) {  // to start again may help
    return Unavailable("environment variable MASTER_ADDR is '{}': {}, until now", host, gai_strerror(error));
  }
  if (error != 0) return FlagError("environment variable MASTER_ADDR is '{}': {}", host, gai_strerror(error));
  const addrinfo* chosen = addresses.get();
  for (const addrinfo* each = chosen; each != nullptr && chosen->ai_family != AF_INET; each = each->ai_next) {
    if (each->ai_family == AF_INET) chosen = each;
  }
  return NumericText(chosen->ai_addr, chosen->ai_addrlen);
}

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// The address from which this machine would talk to `address`, a numeric one. Nothing is sent.
absl::StatusOr<std::string> AddressTowards(const std::string& address) {
  int error = 0;
  const Addresses peer = Resolve(address, AI_NUMERICHOST | AI_NUMERICSERV, error);
  if (error != 0) return InvalidArgument("'{}' is not a numeric address: {}", address, gai_strerror(error));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  const int fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool found = fd >= 0 && connect(fd, peer->ai_addr, peer->ai_addrlen) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (fd >= 0) close(fd);
  if (!found) {
    const bool lacks_interface = address.starts_with("fe80:") && address.find('%') == std::string::npos;
    return InvalidArgument(
        "no interface of this machine reaches rank 0 at {}{}", address,
        lacks_interface ? "; a link-local address needs the interface behind it, as fe80::1%eth0" : "");
  }
  return NumericText(reinterpret_cast<const sockaddr*>(&own), size);
}

// "HOST", "[HOST]" as an address of IPv6 is often written, or "[HOST]:PORT".
absl::Status ReadAddress(const std::string& name, const std::string& text, const NamePause& pause, JobPlace& place) {
  std::string host = text;
  if (text.starts_with('[')) {
    const size_t end = std::min(text.find(']'), text.size() - 1);
    const std::string_view rest = std::string_view(text).substr(end + 1);
    const std::optional<int> port = NumberOf<int>(rest.substr(std::min<size_t>(1, rest.size())));
    if (!rest.empty() && (rest[0] != ':' || !port || *port < 1 || *port > kLargestPort)) {
      return FlagError("environment variable {} is '{}'; expected HOST, [HOST] or [HOST]:PORT", name, text);
    }
    if (port) place.port = *port;
    host = text.substr(1, end - 1);
  }
  ASSIGN_OR_RETURN(place.address, NumericAddress(host, pause));
  return absl::OkStatus();
}

absl::Status ReadMeetingPoint(const Environment& environment, const NamePause& pause, JobPlace& place) {
  for (const char* name : {"MASTER_ADDR", "PET_MASTER_ADDR"}) {
    const auto host = environment(name);
    if (!host) continue;
    RETURN_IF_ERROR(ReadAddress(name, *host, pause, place));
    break;
  }
  for (const char* name : {"MASTER_PORT", "PET_MASTER_PORT"}) {
    const auto port = environment(name);
    if (!port) continue;
    ASSIGN_OR_RETURN(place.port, Number(name, *port, 1, kLargestPort));
    break;
  }
  // There torchrun's agent itself listens.
  if (environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") ++place.port;
  ASSIGN_OR_RETURN(place.token, FindToken(environment));
  if (place.token.empty() && place.ranks > 1 && !IsLoopback(place.address)) {
    return FlagError(
        "rank 0 is at {}, which others can reach: set {} to a secret that all ranks share, or {} to a file with one",
        place.address, kTokenVariable, kTokenFileVariable);
  }
  ASSIGN_OR_RETURN(place.interface_address, AddressTowards(place.address));
  return absl::OkStatus();
}

// One of the two alone would train as a job of one rank, and all processes as many of them.
absl::Status CheckBothAreThere(const Environment& environment) {
  const auto rank = environment("RANK"), ranks = environment("WORLD_SIZE");
  if (rank && !ranks) {
    return FlagError("environment variable RANK is '{}' and WORLD_SIZE is not set; expected both or none", *rank);
  }
  if (!rank && ranks && *ranks != "1") {
    return FlagError("environment variable WORLD_SIZE is '{}' and RANK is not set; expected both or none", *ranks);
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string> SystemEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<int> LocalRank(const Environment& environment) {
  const auto read = [&](const char* name) -> std::optional<int> {
    const auto text = environment(name);
    const std::optional<int> value = text ? NumberOf<int>(*text) : std::nullopt;
    return value && *value >= 0 && *value <= kMostRanks ? value : std::nullopt;
  };
  for (const Source& source : kSources) {
    if (*source.local_rank == '\0' || !IsThere(source, environment)) continue;
    if (const std::optional<int> found = read(source.local_rank)) return found;
  }
  return read("LOCAL_RANK");
}

absl::StatusOr<std::optional<JobPlace>> FindPlace(const Environment& environment, const NamePause& pause) {
  std::optional<JobPlace> place;
  const bool own = environment(kLauncherVariable).has_value();
  for (const Source& source : kSources) {
    // `trainer launch` may itself have been started by one of the others; so may torchrun, once on each node.
    if (place && (own || source.launcher == kKubernetes || source.launcher == kRankVariables)) continue;
    ASSIGN_OR_RETURN(const std::optional<JobPlace> found, Read(source, environment));
    if (!found) continue;
    if (!place) {
      place = found;
    } else if (place->rank != found->rank || place->ranks != found->ranks) {
      return FlagError("the variables of {} say rank {} of {}, those of {} rank {} of {}; unset one of them",
                       place->launcher, place->rank, place->ranks, found->launcher, found->rank, found->ranks);
    }
  }
  if (!place) {
    RETURN_IF_ERROR(CheckBothAreThere(environment));
    return place;
  }
  if (const auto name = environment(kLauncherVariable)) place->launcher = *name;
  RETURN_IF_ERROR(ReadMeetingPoint(environment, pause, *place));
  return place;
}

}  // namespace partita
