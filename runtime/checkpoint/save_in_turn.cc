#include "runtime/checkpoint/save_in_turn.h"

#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"

namespace partita {
namespace {

using TakeBytes = std::function<absl::Status(std::string_view)>;

absl::Status EachTensor(const SafetensorsOutline& outline, const TensorBytes& bytes_of, const TakeBytes& take) {
  for (size_t place = 0; place < outline.order().size(); ++place) {
    ASSIGN_OR_RETURN(const std::string_view bytes, bytes_of(outline.order()[place]));
    CHECK(static_cast<int64_t>(bytes.size()) == outline.bytes(place));
    RETURN_IF_ERROR(take(bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveInTurn(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata,
                        const TensorBytes& bytes_of) {
  ASSIGN_OR_RETURN(const SafetensorsOutline outline, SafetensorsOutline::Make(path, tensors, metadata));
  ASSIGN_OR_RETURN(FileHash hash, outline.BeginHash());
  RETURN_IF_ERROR(EachTensor(outline, bytes_of, [&](std::string_view bytes) {
    hash.Add(bytes.data(), bytes.size());
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(const std::string head, outline.Head(hash));
  return WriteFileAtomically(path, [&](const WriteBytes& write) -> absl::Status {
    RETURN_IF_ERROR(write(head));
    return EachTensor(outline, bytes_of, write);
  });
}

}  // namespace partita
