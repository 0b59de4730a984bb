// The transport of a program as the runtime's channel.
#ifndef PARTITA_PARTITA_CHANNEL_OF_H_
#define PARTITA_PARTITA_CHANNEL_OF_H_

#include <memory>

#include "absl/status/statusor.h"
#include "partita/values.h"
#include "runtime/comm/peer_channel.h"

namespace partita::api {

// Null: there is none. kInvalidArgument: a rank that is not of the job, or a function that lacks.
absl::StatusOr<std::shared_ptr<const PeerChannel>> ChannelOf(const std::shared_ptr<const Transport>& transport);

}  // namespace partita::api

#endif  // PARTITA_PARTITA_CHANNEL_OF_H_
