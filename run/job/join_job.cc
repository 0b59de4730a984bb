#include "run/job/join_job.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "graph/proto_io/proto_io.h"
#include "graph/text/text.h"
#include "run/flight/flight_folder.h"
#include "run/host/log.h"
#include "run/host/version.h"
#include "run/job/job_token.h"
#include "run/job/launcher.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/admission/descriptors.h"
#include "runtime/api/job/process_job.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

std::string Hash(const std::string& text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

std::string TextOf(const Program& program) {
  std::string text;
  for (const EntryPoint& entry : program.entries) text += fmt::format("entry {}\n{}", entry.name, ToText(entry.graph));
  return text;
}

std::string TextOf(const MachineSpeed& speed) {
  const DeviceSpeed& device = speed.device;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", device.flops_per_second, device.bf16_flops_per_second,
                     device.bytes_per_second, device.launch_seconds, device.wait_seconds, speed.message.latency_seconds,
                     speed.message.bytes_per_second, speed.collective.latency_seconds,
                     speed.collective.bytes_per_second, speed.hiding_flops);
}

std::map<std::string, std::string> Digests(const RunSpec& spec, const Strategy& strategy, const Program& program,
                                           const TrainingData& data, const std::map<std::string, std::string>& read,
                                           const std::optional<MachineSpeed>& speed) {
  std::map<std::string, std::string> digests = {
      {"the version", kToolVersion},
      {"the strategy", Hash(PrintStrategy(strategy, ProtoFormat::kText))},
      {"the data", data.manifest},
      {"what they compute", Hash(TextOf(program))},  // last: of all others some are why
  };
  for (const auto& [flag, value] : GivenFlags(spec)) {
    if (!flag.own) digests["flag --" + flag.name] = value;
  }
  for (const auto& [name, version] : LibraryVersions()) {
    if (name != "openssl") digests["the library " + name] = version;  // no result is made by it
  }
  if (speed) digests["the speeds that choices are made by (--cluster gives all the same)"] = Hash(TextOf(*speed));
  digests.insert(read.begin(), read.end());
  return digests;
}

// Nothing that is to be encrypted goes as it is.
absl::Status CheckTls(const RunSpec& spec, const JobPlace& place) {
  if (!spec.job().tls()) return absl::OkStatus();
  if (place.token.empty()) {
    return FlagError(
        "flag --tls: keys are made of a secret that all ranks share: set {} to it, or {} to a file with one",
        kTokenVariable, kTokenFileVariable);
  }
  if (spec.execution().device() == "cuda") {
    return FlagError("flag --tls: what GPUs of several processes give each other goes by NCCL, which encrypts nothing");
  }
  return absl::OkStatus();
}

// That a rank opens to meet the others: connections, on rank 0 also those of the rendezvous, memory that it shares with
// them, and some for files and strangers.
int64_t DescriptorsOf(const JobPlace& place) {
  constexpr int64_t kOfItself = 14;
  return kOfItself + (place.rank == 0 ? 2 : 1) * place.ranks;
}

absl::Status CheckDescriptorsOf(const JobPlace& place) {
  return CheckDescriptors(fmt::format("rank {} of {}", place.rank, place.ranks), DescriptorsOf(place));
}

// What connections of our own need.
absl::Status CheckConnections(const RunSpec& spec, const JobPlace& place) {
  RETURN_IF_ERROR(CheckTls(spec, place));
  if (place.token.empty() && place.rank == 0) {
    Warn("any user of this machine can take a rank of this job: set {} or {} to a secret that all ranks share",
         kTokenVariable, kTokenFileVariable);
  }
  return CheckDescriptorsOf(place);
}

// The name of rank 0 has as long to become known as the ranks have to join.
NamePause PauseOf(const RunSpec& spec) {
  static constexpr std::chrono::seconds kBetween(1);
  const std::chrono::seconds longest(spec.job().join_timeout());
  return [longest, waited = std::chrono::seconds(0)](const std::string& host) mutable {
    if (waited >= longest) return false;
    if (waited.count() == 0)
      Tell("rank 0 is at {}, a name that is not known yet: waits up to {} s", host, longest.count());
    std::this_thread::sleep_for(kBetween);
    waited += kBetween;
    return true;
  };
}

}  // namespace

absl::StatusOr<bool> IsOneOfSeveral(const RunSpec& spec) {
  ASSIGN_OR_RETURN(const std::optional<JobPlace> place, FindPlace(SystemEnvironment, PauseOf(spec)));
  return place && place->ranks > 1;
}

absl::StatusOr<std::shared_ptr<Job>> JoinJob(const RunSpec& spec, const Strategy& strategy, const Program& program,
                                             const TrainingData& data, const std::map<std::string, std::string>& read,
                                             const std::optional<MachineSpeed>& speed, const Joining& joining) {
  std::optional<JobPlace> place;
  if (joining.channel != nullptr) {
    place.emplace();
    place->launcher = "the program's channel";
    place->rank = joining.channel->rank;
    place->ranks = joining.channel->ranks;
  } else {
    ASSIGN_OR_RETURN(place, FindPlace(SystemEnvironment, PauseOf(spec)));
  }
  if (!place || place->ranks == 1) return nullptr;  // one process: its ranks are threads
  if (place->ranks != program.ranks()) {
    return FlagError(
        "the job has {} by {}, but the strategy has {} ({}); expected one process for each rank: split "
        "the graph for {} ranks, e.g. by --dp={}, or start {}",
        Counted(place->ranks, "process"), place->launcher, Counted(program.ranks(), "rank"),
        program.meshes[0].ToString(), place->ranks, place->ranks, Counted(program.ranks(), "process"));
  }
  if (joining.channel == nullptr) {
    RETURN_IF_ERROR(CheckConnections(spec, *place));
  } else if (!joining.channel->carries()) {
    RETURN_IF_ERROR(CheckDescriptorsOf(*place));
  }
  ProcessJobOptions options;
  options.rank = place->rank;
  options.ranks = place->ranks;
  options.address = place->address;
  options.port = place->port;
  options.interface_address = place->interface_address;
  options.token = place->token;
  options.tls = spec.job().tls();
  options.join_timeout = milliseconds(spec.job().join_timeout() * 1000);
  options.timeout = milliseconds(spec.job().timeout() * 1000);
  options.digests = Digests(spec, strategy, program, data, read, speed);
  options.channel = joining.channel;
  options.on_failure = [who = fmt::format("rank {}: ", place->rank), flight = joining.flight, failed = joining.failed](
                           const absl::Status& status, const std::vector<FlightRecord>& records) {
    flight->Keep(records, status);
    failed(who, status);
  };
  absl::StatusOr<std::unique_ptr<ProcessJob>> job = ProcessJob::Start(options);
  if (!job.ok()) return WithContext(fmt::format("rank {}", place->rank), job.status());
  if (!spec.job().has_flight_recorder()) return std::shared_ptr<Job>(*std::move(job));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, (*job)->AllGather({MessageKind::kRunName, NewRunName()}));
  if (!IsRunName(names.front())) {
    return Unavailable("rank 0 sent damaged '{}': found '{}'", NameOf(MessageKind::kRunName), Printable(names.front()));
  }
  joining.flight->KeepIn(spec.job().flight_recorder(), names.front());
  return std::shared_ptr<Job>(*std::move(job));
}

StallOptions WatchForStalls(const RunSpec& spec, const Job* job, const Joining& joining) {
  if (job == nullptr && spec.job().has_flight_recorder()) {
    joining.flight->KeepIn(spec.job().flight_recorder(), NewRunName());
  }
  const std::string who = job == nullptr ? "" : fmt::format("rank {}: ", job->ranks().front());
  return {milliseconds(spec.job().timeout() * 1000),
          [who, flight = joining.flight, failed = joining.failed](const absl::Status& status,
                                                                  const std::vector<FlightRecord>& records) {
            flight->Keep(records, status);
            failed(who, status);
          }};
}

}  // namespace partita
