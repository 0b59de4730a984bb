#include "partitioner/proto_io/profile_io.h"

#include <utility>
#include <vector>

#include "graph/value/node_name.h"
#include "partitioner/proto_io/cluster_proto.h"
#include "proto/profile.pb.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<CollectiveKind> ReadKind(const std::string& name) {
  if (const std::optional<CollectiveKind> kind = FindCollective(name)) return *kind;
  std::vector<std::string> known;
  for (const CollectiveKind kind : kCollectives) known.emplace_back(Name(kind));
  return InvalidArgument("field collective is {}{}", Quoted(name), Suggestion(name, known));
}

absl::StatusOr<CollectiveTime> ReadCollective(const CollectiveTimeProto& proto) {
  ASSIGN_OR_RETURN(const CollectiveKind kind, ReadKind(proto.collective()));
  return CollectiveTime{kind,
                        proto.ranks(),
                        proto.processes(),
                        {{proto.alpha_seconds(), proto.beta_seconds()}, proto.r_squared()},
                        proto.least_bytes(),
                        proto.most_bytes()};
}

absl::Status ReadMachine(const ProfileProto& proto, Profile& profile) {
  ASSIGN_OR_RETURN(profile.machine, DescriptionOf(proto.cluster()));
  return ClusterOf(profile, /*processes=*/false).status();
}

absl::Status ReadKey(const ProfileProto& proto, ProfileKey& key) {
  if (proto.device().empty()) return InvalidArgument("field device is empty; what was measured is needed");
  key.device = proto.device();
  for (const ProfileLibraryProto& library : proto.libraries()) {
    if (key.libraries.emplace(library.name(), library.version()).second) continue;
    return InvalidArgument("field libraries has {} twice; once is allowed", Quoted(library.name()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Profile> ReadProfile(const ProfileProto& proto) {
  Profile profile;
  RETURN_IF_ERROR(ReadKey(proto, profile.key));
  profile.time = proto.time();
  for (const KernelTimeProto& kernel : proto.kernels()) {
    profile.kernels.push_back({kernel.signature(), kernel.ranks(), kernel.seconds(), kernel.spread()});
  }
  for (const CollectiveTimeProto& collective : proto.collectives()) {
    ASSIGN_OR_RETURN(profile.collectives.emplace_back(), ReadCollective(collective));
  }
  profile.slowdown.clear();
  for (const SharedCoresProto& shared : proto.shared_cores()) {
    if (profile.slowdown.emplace(shared.ranks(), shared.slowdown()).second) continue;
    return InvalidArgument("field shared_cores has {} ranks twice; once is allowed", shared.ranks());
  }
  RETURN_IF_ERROR(CheckProfile(profile));
  RETURN_IF_ERROR(WithContext("cluster", ReadMachine(proto, profile)));
  return profile;
}

void Write(const KernelTime& kernel, KernelTimeProto& proto) {
  proto.set_signature(kernel.signature);
  proto.set_ranks(kernel.ranks);
  proto.set_seconds(kernel.seconds);
  proto.set_spread(kernel.spread);
}

void Write(const CollectiveTime& time, CollectiveTimeProto& proto) {
  proto.set_collective(Name(time.kind));
  proto.set_ranks(time.ranks);
  proto.set_processes(time.processes);
  proto.set_alpha_seconds(time.fit.cost.alpha);
  proto.set_beta_seconds(time.fit.cost.beta);
  proto.set_r_squared(time.fit.r_squared);
  proto.set_least_bytes(time.least_bytes);
  proto.set_most_bytes(time.most_bytes);
}

}  // namespace

absl::StatusOr<Profile> ParseProfile(const std::string& bytes, ProtoFormat format, const std::string& source) {
  ProfileProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
  absl::StatusOr<Profile> profile = ReadProfile(proto);
  return profile.ok() ? std::move(profile) : WithContext(source, profile.status());
}

absl::StatusOr<Profile> LoadProfile(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseProfile(file.bytes, file.format, path);
}

std::string PrintProfile(const Profile& profile, ProtoFormat format) {
  ProfileProto proto;
  proto.set_schema_version(1);
  proto.set_device(profile.key.device);
  for (const auto& [name, version] : profile.key.libraries) {
    ProfileLibraryProto& library = *proto.add_libraries();
    library.set_name(name);
    library.set_version(version);
  }
  proto.set_time(profile.time);
  *proto.mutable_cluster() = ProtoOf(profile.machine);
  for (const KernelTime& kernel : profile.kernels) Write(kernel, *proto.add_kernels());
  for (const CollectiveTime& time : profile.collectives) Write(time, *proto.add_collectives());
  for (const auto& [ranks, slowdown] : profile.slowdown) {
    SharedCoresProto& shared = *proto.add_shared_cores();
    shared.set_ranks(ranks);
    shared.set_slowdown(slowdown);
  }
  return PrintMessage(proto, format);
}

}  // namespace partita
