// The members of a zip archive that are stored as they are: what PyTorch writes its files as. Nothing is decompressed,
// so no file can grow while it is read.
#ifndef PARTITA_IMPORTER_PROGRAM_ZIP_MEMBERS_H_
#define PARTITA_IMPORTER_PROGRAM_ZIP_MEMBERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace partita {

// Where a member's bytes lie in the file.
struct ZipMember {
  int64_t begin = 0;
  int64_t size = 0;
  uint32_t checksum = 0;  // CRC-32
};

// By name, as the archive has it. kInvalidArgument, with the file and the member: no zip archive; a member that is
// compressed or encrypted, is there twice, lies outside the file or over another member, or whose name is absolute or
// leads upwards; more than a million members.
absl::StatusOr<std::map<std::string, ZipMember>> MembersOfZip(const std::string& path);

// The bytes of a member. kInvalidArgument: there are more than `limit` of them, or others than the checksum says.
absl::StatusOr<std::string> ReadMember(const std::string& path, const std::string& name, const ZipMember& member,
                                       int64_t limit);

}  // namespace partita

#endif  // PARTITA_IMPORTER_PROGRAM_ZIP_MEMBERS_H_
