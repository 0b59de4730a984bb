// Messages as text and as binary: what was read says the same when it is written and read again.
#include <sys/socket.h>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/proto_io/cluster_io.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "partitioner/proto_io/profile_io.h"
#include "run/flight/flight_file.h"
#include "runtime/admission/socket.h"
#include "runtime/flight_recorder/post_mortem.h"
#include "runtime/rendezvous/control_stream.h"
#include "runtime/rendezvous/rendezvous.pb.h"
#include "tests/fuzz/targets/input_path.h"
#include "tests/fuzz/targets/promise.h"
#include "tests/fuzz/targets/targets.h"

namespace partita {
namespace {

constexpr char kSource[] = "input";

// read(bytes) is a StatusOr; print(value) gives bytes again.
template <typename Read, typename Print>
void FeedAndPrint(const std::string& bytes, const Read& read, const Print& print) {
  const auto value = read(bytes);
  if (!value.ok()) return PromiseRefusal(value.status());
  const std::string printed = print(*value);
  const auto again = read(printed);
  Promise(again.ok(), "what was printed is refused: " + again.status().ToString());
  Promise(print(*again) == printed, "what was printed means something else: " + printed);
}

template <typename Value>
void ReadOrRefuse(const absl::StatusOr<Value>& value) {
  if (!value.ok()) PromiseRefusal(value.status());
}

void FeedGraph(const std::string& bytes, ProtoFormat format) {
  FeedAndPrint(
      bytes, [&](const std::string& read) { return ParseModel(read, format, kSource, Ops()); },
      [&](const Model& model) { return PrintModel(model, format); });
}

void FeedStrategy(const std::string& bytes, ProtoFormat format) {
  FeedAndPrint(
      bytes, [&](const std::string& read) { return ParseStrategy(read, format, kSource); },
      [&](const Strategy& strategy) { return PrintStrategy(strategy, format); });
}

}  // namespace

void FeedGraphText(const std::string& bytes) { FeedGraph(bytes, ProtoFormat::kText); }
void FeedGraphBinary(const std::string& bytes) { FeedGraph(bytes, ProtoFormat::kBinary); }
void FeedStrategyText(const std::string& bytes) { FeedStrategy(bytes, ProtoFormat::kText); }
void FeedStrategyBinary(const std::string& bytes) { FeedStrategy(bytes, ProtoFormat::kBinary); }

void FeedCluster(const std::string& bytes) {
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    ReadOrRefuse(ParseCluster(bytes, format, kSource));
  }
}

void FeedEpochCurve(const std::string& bytes) {
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    ReadOrRefuse(ParseEpochCurve(bytes, format, kSource));
  }
}

void FeedProfile(const std::string& bytes) {
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    FeedAndPrint(
        bytes, [&](const std::string& read) { return ParseProfile(read, format, kSource); },
        [&](const Profile& profile) { return PrintProfile(profile, format); });
  }
}

// What a job died of can be said of any record that is one.
void FeedFlightRecord(const std::string& bytes) {
  const absl::StatusOr<FlightRecord> record = LoadFlightRecord(AsFile(".pbtxt", bytes));
  if (!record.ok()) return PromiseRefusal(record.status());
  Promise(!FindCause(std::span(&*record, 1)).sentence.empty(), "no cause");
}

// What a peer that knows the token may send. Messages that were read are read again after they were written.
void FeedControlStream(const std::string& bytes) {
  int both[2];
  Promise(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) == 0, "no pair of sockets");
  Socket peer(both[0]);
  ControlStream stream{Socket(both[1])};
  if (!peer.Write(bytes, Socket::Time::clock::now()).ok()) return;  // more than the system keeps
  Promise(stream.Receive().ok(), "no bytes");
  rendezvous::ToServer message, again;
  while (stream.Next(message).value_or(false)) {
    Promise(again.ParseFromString(message.SerializeAsString()), "a message that cannot be read again");
  }
}

}  // namespace partita
