#include "partitioner/proto_io/cluster_proto.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/node_name.h"
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

absl::Status ReadOpTimes(const DeviceProto& proto, DeviceKind& kind) {
  for (const OpTimesProto& op : proto.op_times()) {
    if (!kind.op_times.emplace(op.op(), op.times()).second) {
      return InvalidArgument("it has two op_times of {}; one is allowed", Quoted(op.op()));
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
                  proto.compute_capability(),
                  proto.wake_seconds(),
                  proto.model(),
                  proto.cores()};
  RETURN_IF_ERROR(ReadRates(proto, kind));
  RETURN_IF_ERROR(ReadOpTimes(proto, kind));
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

void Write(const Link& link, LinkProto& proto) {
  proto.set_fabric(Name(link.fabric));
  proto.set_bytes_per_second(link.bytes_per_second);
  proto.set_latency_seconds(link.latency_seconds);
  proto.set_channels(link.channels);
}

void Write(const DeviceKind& kind, DeviceProto& proto) {
  proto.set_name(kind.name);
  proto.set_backend(kind.backend == BackendKind::kCuda ? "cuda" : "host");
  proto.set_memory_bytes(kind.memory_bytes);
  proto.set_bytes_per_second(kind.bytes_per_second);
  for (const auto& [dtype, flops] : kind.flops_per_second) {
    RateProto& rate = *proto.add_rates();
    rate.set_dtype(Name(dtype));
    rate.set_flops_per_second(flops);
  }
  proto.set_launch_seconds(kind.launch_seconds);
  proto.set_cores_shared(kind.cores_shared);
  proto.set_compute_capability(kind.compute_capability);
  proto.set_wake_seconds(kind.wake_seconds);
  proto.set_model(kind.model);
  proto.set_cores(kind.cores);
  for (const auto& [name, times] : kind.op_times) {
    OpTimesProto& op = *proto.add_op_times();
    op.set_op(name);
    op.set_times(times);
  }
}

void Write(const DomainDescription& domain, DomainProto& proto) {
  proto.set_name(domain.name);
  proto.set_in(domain.in);
  proto.set_count(domain.count);
  proto.set_device(domain.device);
  proto.set_devices(domain.devices);
  if (domain.within) Write(*domain.within, *proto.mutable_within());
  if (domain.up) Write(*domain.up, *proto.mutable_up());
}

}  // namespace

absl::StatusOr<ClusterDescription> DescriptionOf(const ClusterProto& proto) {
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
  return description;
}

ClusterProto ProtoOf(const ClusterDescription& description) {
  ClusterProto proto;
  proto.set_schema_version(1);
  proto.set_name(description.name);
  for (const DeviceKind& kind : description.kinds) Write(kind, *proto.add_devices());
  for (const DomainDescription& domain : description.domains) Write(domain, *proto.add_domains());
  return proto;
}

}  // namespace partita
