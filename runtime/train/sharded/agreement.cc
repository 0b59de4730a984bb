#include "runtime/train/sharded/agreement.h"

#include "runtime/api/job/packed_values.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string Packed(const absl::Status& status, const std::string& said) {
  PackedValues packed;
  packed.Add(static_cast<int>(status.code()));
  packed.AddText(status.ok() ? said : std::string(status.message()));
  return packed.bytes();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Agree(const Session& session, const absl::Status& own,
                                               const std::string& said) {
  ASSIGN_OR_RETURN(std::vector<std::string> all, session.AllGather(Packed(own, said)));
  for (std::string& process : all) {
    PackedReader reader(process);
    const auto code = static_cast<absl::StatusCode>(reader.Next<int>());
    std::string text = reader.NextText();
    if (code != absl::StatusCode::kOk) return absl::Status(code, text);
    process = std::move(text);
  }
  return all;
}

}  // namespace partita
