#include "runtime/checkpoint/sharded/convert.h"

#include <unistd.h>

#include <cstring>
#include <functional>

#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"

namespace partita {
namespace {

// Where the box begins in a row-major tensor of that shape, in elements.
int64_t PlaceOf(const Shape& offset, const Shape& shape) {
  int64_t place = 0;
  for (size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + offset[d];
  return place;
}

// A box, in row-major order, to its place in the whole tensor: row by row of its last dimension.
void CopyIntoWhole(const Box& box, const char* bytes, const Shape& shape, int64_t element, char* whole) {
  const int64_t row = box.size.empty() ? 1 : box.size.back();
  Shape at = box.offset;
  for (int64_t left = box.elements() / row; left > 0; --left, bytes += row * element) {
    std::memcpy(whole + PlaceOf(at, shape) * element, bytes, static_cast<size_t>(row * element));
    for (size_t d = at.size(); d > 1; --d) {
      if (++at[d - 2] < box.offset[d - 2] + box.size[d - 2]) break;
      at[d - 2] = box.offset[d - 2];
    }
  }
}

absl::StatusOr<std::string> ReadWhole(const SavedCheckpoint& checkpoint, const SavedState& state) {
  const int64_t element = SizeOf(state.dtype), bytes = Elements(state.shape) * element;
  RETURN_IF_ERROR(CheckMemory(checkpoint.folder(), bytes));
  return OrExhausted(checkpoint.folder().c_str(), [&]() -> absl::StatusOr<std::string> {
    std::string whole(static_cast<size_t>(bytes), '\0');
    RETURN_IF_ERROR(checkpoint.Read(
        state, [](const Box&) { return true; },
        [&](const Box& piece, const char* from) { CopyIntoWhole(piece, from, state.shape, element, whole.data()); }));
    return whole;
  });
}

using TakeState = std::function<absl::Status(const std::string& bytes)>;

// Each state as a whole, in the order of the file.
absl::Status EachState(const SavedCheckpoint& checkpoint, const SafetensorsOutline& outline, const TakeState& take) {
  for (const size_t state : outline.order()) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(checkpoint, checkpoint.record().states[state]));
    RETURN_IF_ERROR(take(bytes));
  }
  return absl::OkStatus();
}

absl::Status Write(const SavedCheckpoint& checkpoint, const SafetensorsOutline& outline, const std::string& head,
                   const std::string& path, Disk& disk) {
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, disk.Create(path));
  RETURN_IF_ERROR(file->Write(head));
  RETURN_IF_ERROR(EachState(checkpoint, outline, [&](const std::string& bytes) { return file->Write(bytes); }));
  return file->Sync();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

absl::Status ConvertCheckpoint(const SavedCheckpoint& checkpoint, const std::string& path, Disk& disk) {
  std::vector<NamedTensor> tensors;
  for (const SavedState& state : checkpoint.record().states) {
    tensors.push_back({state.name, state.dtype, {state.shape.begin(), state.shape.end()}, {}});
  }
  ASSIGN_OR_RETURN(const SafetensorsOutline outline,
                   SafetensorsOutline::Make(path, tensors, checkpoint.record().metadata));
  ASSIGN_OR_RETURN(FileHash hash, outline.BeginHash());
  RETURN_IF_ERROR(EachState(checkpoint, outline, [&](const std::string& bytes) {
    hash.Add(bytes.data(), bytes.size());
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(const std::string head, outline.Head(hash));
  const std::string temporary = fmt::format("{}.tmp-{}", path, ::getpid());
  absl::Status status = Write(checkpoint, outline, head, temporary, disk);
  if (status.ok()) status = disk.Rename(temporary, path);
  if (status.ok()) return disk.SyncFolder(FolderOf(path));
  disk.RemoveFile(temporary).IgnoreError();
  return status;
}

}  // namespace partita
