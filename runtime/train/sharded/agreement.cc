#include "runtime/train/sharded/agreement.h"

#include "runtime/api/job/packed_values.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string Packed(const absl::Status& status, const std::string& said) {
  PackedValues packed;
  packed.AddStatus(status);
  packed.AddText(said);
  return packed.bytes();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Agree(const Session& session, MessageKind kind, const absl::Status& own,
                                               const std::string& said) {
  ASSIGN_OR_RETURN(std::vector<std::string> all, session.AllGather({kind, Packed(own, said)}));
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader reader(kind, process, all[process]);
    const absl::Status status = reader.NextStatus();
    std::string text = reader.NextText();
    RETURN_IF_ERROR(reader.Finish());
    RETURN_IF_ERROR(status);
    all[process] = std::move(text);
  }
  return all;
}

}  // namespace partita
