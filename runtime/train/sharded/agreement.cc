#include "runtime/train/sharded/agreement.h"

#include "runtime/api/job/packed_values.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string Packed(const absl::Status& status, const std::string& said) {
  const std::string text = status.ok() ? said : std::string(status.message());
  PackedValues packed;
  packed.Add(static_cast<int>(status.code()));
  packed.Add(static_cast<int64_t>(text.size()));
  packed.AddBytes(text.data(), static_cast<int64_t>(text.size()));
  return packed.bytes();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Agree(const Session& session, const absl::Status& own,
                                               const std::string& said) {
  ASSIGN_OR_RETURN(std::vector<std::string> all, session.AllGather(Packed(own, said)));
  for (std::string& process : all) {
    PackedReader reader(process);
    const auto code = static_cast<absl::StatusCode>(reader.Next<int>());
    const auto size = reader.Next<int64_t>();
    std::string text(reader.NextBytes(size), static_cast<size_t>(size));
    if (code != absl::StatusCode::kOk) return absl::Status(code, text);
    process = std::move(text);
  }
  return all;
}

}  // namespace partita
