#include "partita/channel_of.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "partita/convert.h"
#include "runtime/base/status.h"
#include "runtime/comm/key_value_store.h"

namespace partita::api {
namespace {

// A store may have keys of others.
std::string Named(const std::string& key) { return "partita/" + key; }

class ProgramsStore : public KeyValueStore {
 public:
  explicit ProgramsStore(std::shared_ptr<const Transport> transport) : transport_(std::move(transport)) {}

  absl::Status Set(const std::string& key, const std::string& value) override {
    if (value.size() > Transport::kMostValueBytes) {
      return InvalidArgument("the program's put takes {} bytes; {} has {}", Transport::kMostValueBytes, key,
                             value.size());
    }
    if (transport_->put(Named(key), value)) return absl::OkStatus();
    return Unavailable("the program's put of {} failed", Named(key));
  }

  absl::StatusOr<std::string> Get(const std::string& key, std::chrono::milliseconds timeout) override {
    std::optional<std::string> value = transport_->get(Named(key), timeout.count());
    if (value) return *std::move(value);
    return Unavailable("the program's get of {} failed", Named(key));
  }

 private:
  const std::shared_ptr<const Transport> transport_;
};

// What is there must do for one of the two ways: bytes over the transport, or connections of our own.
absl::Status CheckFunctions(const Transport& transport) {
  const bool sends = transport.send != nullptr, receives = transport.receive != nullptr;
  const bool puts = transport.put != nullptr, gets = transport.get != nullptr;
  if (sends != receives || puts != gets || (!sends && !puts)) {
    return InvalidArgument("the transport lacks a function; expected send, receive and close, or put and get");
  }
  if (transport.close || (!sends && !transport.all_reduce)) return absl::OkStatus();
  return InvalidArgument("the transport lacks a function; close ends what waits in {}",
                         sends ? "send and receive" : "all_reduce");
}

bool Sum(const Transport& transport, const PeerReduction& reduction) {
  AllReduce sum;
  sum.group = reduction.group;
  sum.ranks = reduction.ranks.data();
  sum.rank_count = static_cast<int32_t>(reduction.ranks.size());
  sum.type = TypeOf(reduction.dtype).value_or(Type::kF32);  // bf16 is not left to programs
  sum.count = static_cast<size_t>(reduction.count);
  sum.input = reduction.in;
  sum.output = reduction.out;
  return transport.all_reduce(sum);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PeerChannel>> ChannelOf(const std::shared_ptr<const Transport>& transport) {
  if (transport == nullptr) return nullptr;
  if (transport->ranks < 1 || transport->rank < 0 || transport->rank >= transport->ranks) {
    return InvalidArgument("the transport is of rank {} of {}; expected a rank below the number of ranks",
                           transport->rank, transport->ranks);
  }
  RETURN_IF_ERROR(CheckFunctions(*transport));
  auto channel = std::make_shared<PeerChannel>();
  channel->rank = transport->rank;
  channel->ranks = transport->ranks;
  channel->send = transport->send;
  channel->receive = transport->receive;
  channel->close = transport->close;
  channel->barrier = transport->barrier;
  if (transport->all_reduce) {
    channel->all_reduce = [transport](const PeerReduction& reduction) { return Sum(*transport, reduction); };
  }
  if (!transport->send) {
    channel->store = std::make_shared<ProgramsStore>(transport);
    channel->address = transport->address;
  }
  return channel;
}

}  // namespace partita::api
