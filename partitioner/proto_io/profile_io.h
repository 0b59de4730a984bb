// Profiles as protos (proto/profile.proto): files in, checked values out, and back.
#ifndef PARTITA_PARTITIONER_PROTO_IO_PROFILE_IO_H_
#define PARTITA_PARTITIONER_PROTO_IO_PROFILE_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/proto_io/proto_io_message.h"
#include "partitioner/profile/profile.h"

namespace partita {

// Errors name the file, what of it (a kernel, a collective, a device) and the field, with what was found and what is
// allowed. Thread-safe.
absl::StatusOr<Profile> LoadProfile(const std::string& path);
absl::StatusOr<Profile> ParseProfile(const std::string& bytes, ProtoFormat format, const std::string& source);

// Equal profiles, equal bytes.
std::string PrintProfile(const Profile& profile, ProtoFormat format);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROTO_IO_PROFILE_IO_H_
