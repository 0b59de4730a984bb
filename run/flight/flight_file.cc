#include "run/flight/flight_file.h"

#include <algorithm>
#include <iterator>

#include "graph/proto_io/proto_io_message.h"
#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "proto/flight.pb.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using State = FlownOperation::State;

constexpr std::pair<State, const char*> kStates[] = {{State::kRunning, "running"},
                                                     {State::kWaiting, "waiting"},
                                                     {State::kEnded, "ended"},
                                                     {State::kFailed, "failed"},
                                                     {State::kLaunched, "launched"}};

constexpr size_t kLongestText = 80, kLongestFault = 1000;

const char* NameOf(State state) {
  return std::ranges::find(kStates, state, &std::pair<State, const char*>::first)->second;
}

FlightRecordProto ToProto(const FlightRecord& record) {
  FlightRecordProto proto;
  proto.set_schema_version(1);
  proto.set_rank(record.rank);
  proto.set_ranks(record.ranks);
  proto.set_time(record.time);
  proto.set_fault(Printable(record.fault, kLongestFault));
  for (const auto& [id, ranks] : record.groups) {
    FlightGroupProto& group = *proto.add_groups();
    group.set_id(id);
    for (const int rank : ranks) group.add_ranks(rank);
  }
  for (const FlownOperation& flown : record.operations) {
    FlightOperationProto& operation = *proto.add_operations();
    operation.set_group(flown.group);
    operation.set_sequence(flown.sequence);
    operation.set_name(flown.name);
    operation.set_count(flown.count);
    operation.set_dtype(flown.dtype);
    operation.set_state(NameOf(flown.state));
    operation.set_begin(flown.begin);
    operation.set_end(flown.end);
  }
  return proto;
}

absl::Status CheckRank(const std::string& field, int rank, int ranks) {
  if (rank >= 0 && rank < ranks) return absl::OkStatus();
  return InvalidArgument("{}: found {}, allowed are 0 to {}", field, rank, ranks - 1);
}

absl::Status ReadGroups(const FlightRecordProto& proto, FlightRecord& record) {
  for (int g = 0; g < proto.groups_size(); ++g) {
    const FlightGroupProto& group = proto.groups(g);
    for (const int rank : group.ranks()) {
      RETURN_IF_ERROR(CheckRank(fmt::format("groups[{}].ranks", g), rank, record.ranks));
    }
    const bool is_new =
        record.groups.emplace(group.id(), std::vector<int>(group.ranks().begin(), group.ranks().end())).second;
    if (!is_new) return InvalidArgument("groups[{}].id: {} is there twice", g, group.id());
  }
  return absl::OkStatus();
}

absl::StatusOr<FlownOperation> ReadOperation(const FlightOperationProto& proto) {
  const auto state = std::ranges::find(kStates, proto.state(), &std::pair<State, const char*>::second);
  if (state == std::end(kStates)) {
    return InvalidArgument("state: found '{}', allowed are running, waiting, ended, failed, launched",
                           Printable(proto.state(), kLongestText));
  }
  if (proto.sequence() < 1) return InvalidArgument("sequence: found {}, allowed is 1 or more", proto.sequence());
  if (proto.count() < -1) return InvalidArgument("count: found {}, allowed is -1 or more", proto.count());
  if (proto.name().empty()) return InvalidArgument("name: not found");
  if (proto.begin() < 0) return InvalidArgument("begin: found {}, allowed is 0 or more", proto.begin());
  if (proto.end() < 0) return InvalidArgument("end: found {}, allowed is 0 or more", proto.end());
  return FlownOperation{proto.group(),
                        proto.sequence(),
                        Printable(proto.name(), kLongestText),
                        proto.count(),
                        Printable(proto.dtype(), kLongestText),
                        state->first,
                        proto.begin(),
                        proto.end()};
}

absl::StatusOr<FlightRecord> FromProto(const FlightRecordProto& proto) {
  FlightRecord record;
  if (proto.ranks() < 1 || proto.ranks() > kMostRanks) {
    return InvalidArgument("ranks: found {}, allowed are 1 to {}", proto.ranks(), kMostRanks);
  }
  record.ranks = proto.ranks();
  RETURN_IF_ERROR(CheckRank("rank", proto.rank(), record.ranks));
  record.rank = proto.rank();
  if (proto.time() < 1) return InvalidArgument("time: found {}, allowed is 1 or more", proto.time());
  record.time = proto.time();
  record.fault = Printable(proto.fault(), kLongestFault);
  RETURN_IF_ERROR(ReadGroups(proto, record));
  for (int o = 0; o < proto.operations_size(); ++o) {
    absl::StatusOr<FlownOperation> operation = ReadOperation(proto.operations(o));
    if (!operation.ok()) return WithContext(fmt::format("operations[{}]", o), operation.status());
    record.operations.push_back(*std::move(operation));
  }
  return record;
}

}  // namespace

absl::Status SaveFlightRecord(const FlightRecord& record, const std::string& path) {
  return SaveMessage(ToProto(record), path);
}

absl::StatusOr<FlightRecord> LoadFlightRecord(const std::string& path) {
  FlightRecordProto proto;
  RETURN_IF_ERROR(LoadMessage(path, proto));
  absl::StatusOr<FlightRecord> record = FromProto(proto);
  if (!record.ok()) return WithContext(path, record.status());
  return record;
}

}  // namespace partita
