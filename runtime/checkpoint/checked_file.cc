#include "runtime/checkpoint/checked_file.h"

#include <fmt/ranges.h>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::string_view> TensorStream::Next(int64_t count) {
  bytes_.clear();
  RETURN_IF_ERROR(input_.Append(count, bytes_));
  read_.Add(bytes_.data(), bytes_.size());
  return bytes_;
}

absl::Status TensorStream::CheckEnd() const {
  if (read_.Text() == hash_) return absl::OkStatus();
  return InvalidArgument("{}: tensor {}: found other bytes than before: the file was changed while it was read",
                         input_.path(), Printable(tensor_));
}

absl::StatusOr<CheckedFile> CheckedFile::Check(SafetensorsReader reader, const TensorChoice& wanted) {
  std::map<std::string, FileHash> read;
  for (const StoredTensor& tensor : reader.header().tensors()) {
    if (!wanted || wanted(tensor)) read.try_emplace(tensor.name);
  }
  RETURN_IF_ERROR(reader.ReadPieces([&](const StoredTensor& tensor, std::string_view piece) {
    if (const auto hash = read.find(tensor.name); hash != read.end()) hash->second.Add(piece.data(), piece.size());
  }));
  std::map<std::string, std::string, std::less<>> hashes;
  for (const auto& [name, hash] : read) hashes[name] = hash.Text();
  return CheckedFile(reader.header(), reader.data_begin(), std::move(hashes));
}

std::string CheckedFile::Digest() const {
  std::string text;
  for (const auto& [name, hash] : hashes_) {
    const StoredTensor& tensor = *file_.Find(name);
    text += fmt::format("{}:{} {}{} {}\n", name.size(), name, tensor.type->name, tensor.shape, hash);
  }
  return HashOfBytes(text);
}

const StoredTensor* CheckedFile::Find(std::string_view name) const {
  return hashes_.contains(name) ? file_.Find(name) : nullptr;
}

absl::StatusOr<TensorStream> CheckedFile::Open(const StoredTensor& tensor) const {
  const auto hash = hashes_.find(tensor.name);
  CHECK(hash != hashes_.end());
  ASSIGN_OR_RETURN(InputFile input, InputFile::Open(path()));
  if (input.rest() < data_begin_ + tensor.end) {
    return InvalidArgument("{}: found {} bytes: the file was changed while it was read", path(), input.size());
  }
  RETURN_IF_ERROR(input.Skip(data_begin_ + tensor.begin));
  return TensorStream(std::move(input), tensor.name, hash->second);
}

}  // namespace partita
