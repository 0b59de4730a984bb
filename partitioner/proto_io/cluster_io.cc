#include "partitioner/proto_io/cluster_io.h"

#include <optional>
#include <vector>

#include "graph/value/node_name.h"
#include "partitioner/cluster/cluster_description.h"
#include "proto/cluster.pb.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<Fabric> ReadFabric(const std::string& name) {
  std::vector<std::string> known;
  for (Fabric fabric : kFabrics) {
    if (name == Name(fabric)) return fabric;
    known.emplace_back(Name(fabric));
  }
  return InvalidArgument("field fabric is {}{}", Quoted(name), Suggestion(name, known));
}

absl::StatusOr<std::optional<Link>> ReadLink(bool there, const LinkProto& proto) {
  if (!there) return std::nullopt;
  ASSIGN_OR_RETURN(const Fabric fabric, ReadFabric(proto.fabric()));
  return Link{fabric, proto.bytes_per_second(), proto.latency_seconds(), proto.channels() == 0 ? 1 : proto.channels()};
}

absl::StatusOr<BackendKind> ReadBackend(const std::string& name) {
  if (name == "host") return BackendKind::kHost;
  if (name == "cuda") return BackendKind::kCuda;
  return InvalidArgument("field backend is {}{}", Quoted(name), Suggestion(name, {"host", "cuda"}));
}

absl::Status ReadRates(const DeviceProto& proto, DeviceKind& kind) {
  for (const RateProto& rate : proto.rates()) {
    const std::optional<DType> dtype = ParseDType(rate.dtype());
    if (!dtype || !IsFloating(*dtype)) {
      return InvalidArgument("it has a rate of {}{}", Quoted(rate.dtype()),
                             Suggestion(rate.dtype(), {"f32", "f64", "bf16"}));
    }
    if (!kind.flops_per_second.emplace(*dtype, rate.flops_per_second()).second) {
      return InvalidArgument("it has two rates of {}; one is allowed", rate.dtype());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceKind> ReadKind(const DeviceProto& proto) {
  ASSIGN_OR_RETURN(const BackendKind backend, ReadBackend(proto.backend()));
  DeviceKind kind{proto.name(),
                  backend,
                  proto.memory_bytes(),
                  proto.bytes_per_second(),
                  {},
                  proto.launch_seconds(),
                  proto.cores_shared(),
                  proto.compute_capability()};
  RETURN_IF_ERROR(ReadRates(proto, kind));
  return kind;
}

absl::StatusOr<DomainDescription> ReadDomain(const DomainProto& proto) {
  DomainDescription domain{
      proto.name(), proto.in(), proto.count() == 0 ? 1 : proto.count(), proto.device(), proto.devices(), {}, {}};
  absl::StatusOr<std::optional<Link>> within = ReadLink(proto.has_within(), proto.within());
  if (!within.ok()) return WithContext("within", within.status());
  absl::StatusOr<std::optional<Link>> up = ReadLink(proto.has_up(), proto.up());
  if (!up.ok()) return WithContext("up", up.status());
  domain.within = *within;
  domain.up = *up;
  return domain;
}

absl::StatusOr<Cluster> ReadCluster(const ClusterProto& proto) {
  ClusterDescription description;
  description.name = proto.name();
  for (const DeviceProto& device : proto.devices()) {
    absl::StatusOr<DeviceKind> kind = ReadKind(device);
    if (!kind.ok()) return WithContext("device " + Quoted(device.name()), kind.status());
    description.kinds.push_back(*std::move(kind));
  }
  for (const DomainProto& described : proto.domains()) {
    absl::StatusOr<DomainDescription> domain = ReadDomain(described);
    if (!domain.ok()) return WithContext("domain " + Quoted(described.name()), domain.status());
    description.domains.push_back(*std::move(domain));
  }
  return MakeCluster(description);
}

}  // namespace

absl::StatusOr<Cluster> ParseCluster(const std::string& bytes, ProtoFormat format, const std::string& source) {
  ClusterProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
  absl::StatusOr<Cluster> cluster = ReadCluster(proto);
  return cluster.ok() ? std::move(cluster) : WithContext(source, cluster.status());
}

absl::StatusOr<Cluster> LoadCluster(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseCluster(file.bytes, file.format, path);
}

}  // namespace partita
