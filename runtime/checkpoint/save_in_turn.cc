#include "runtime/checkpoint/save_in_turn.h"

#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"

namespace partita {

absl::Status SaveInTurn(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata,
                        const TensorBytes& bytes_of) {
  ASSIGN_OR_RETURN(const SafetensorsOutline outline, SafetensorsOutline::Make(path, tensors, metadata));
  ASSIGN_OR_RETURN(FileHash hash, outline.BeginHash());
  const auto write_tensors = [&](const WriteBytes& write) -> absl::Status {
    for (size_t place = 0; place < outline.order().size(); ++place) {
      ASSIGN_OR_RETURN(const std::string_view bytes, bytes_of(outline.order()[place]));
      CHECK(static_cast<int64_t>(bytes.size()) == outline.bytes(place));
      hash.Add(bytes.data(), bytes.size());
      RETURN_IF_ERROR(write(bytes));
    }
    return absl::OkStatus();
  };
  return WriteFileAtomically(path, write_tensors, [&] { return outline.Head(hash); });
}

}  // namespace partita
