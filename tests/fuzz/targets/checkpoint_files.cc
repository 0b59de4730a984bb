// Safetensors files, and the record of a checkpoint.
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/checkpoint/sharded/record.h"
#include "tests/fuzz/targets/promise.h"
#include "tests/fuzz/targets/targets.h"

namespace partita {
namespace {

constexpr char kFile[] = "input", kHash[] = "xxh3";

std::optional<DType> KnownType(const StoredTensor& tensor) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kU8, DType::kBF16}) {
    if (StoredTypeOf(dtype) == tensor.type) return dtype;
  }
  return std::nullopt;
}

// The tensors that can be saved by us; none if there is one that cannot.
std::vector<NamedTensor> Tensors(const SafetensorsFile& file) {
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::optional<DType> dtype = KnownType(tensor);
    if (!dtype || tensor.name.empty()) return {};
    tensors.push_back({tensor.name, *dtype, tensor.shape, file.Bytes(tensor)});
  }
  return tensors;
}

std::string Whole(const EncodedFile& encoded) {
  std::string bytes = encoded.head;
  for (const std::span<const std::byte> tensor : encoded.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size());
  }
  return bytes;
}

// The text with the checksum that it should have, so that what lies behind the check is reached.
std::string Resealed(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return text;
  try {
    json.erase(kHash);
    json[kHash] = HashOfBytes(json.dump());
    return json.dump() + "\n";
  } catch (const nlohmann::json::exception&) {
    return text;  // not UTF-8
  }
}

}  // namespace

void FeedSafetensors(const std::string& bytes) {
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Parse(kFile, bytes);
  if (!file.ok()) return PromiseRefusal(file.status());
  const std::vector<NamedTensor> tensors = Tensors(*file);
  const absl::StatusOr<EncodedFile> encoded = EncodeSafetensors(kFile, tensors, {});
  Promise(encoded.ok(), "what was read cannot be saved: " + encoded.status().ToString());
  const absl::StatusOr<SafetensorsFile> again = SafetensorsFile::Parse(kFile, Whole(*encoded));
  Promise(again.ok(), "what was saved is refused: " + again.status().ToString());
  Promise(tensors.size() != file->tensors().size() || again->Digest() == file->Digest(), "what was saved is another");
}

void FeedCheckpointRecord(const std::string& bytes) {
  const absl::StatusOr<CheckpointRecord> record = ParseRecord(kFile, bytes);
  if (!record.ok()) return PromiseRefusal(record.status());
  const absl::StatusOr<std::string> text = FormatRecord(kFile, *record);
  Promise(text.ok() && *text == bytes, "a record has another text than that which was read");
}

void FeedResealedRecord(const std::string& bytes) {
  const absl::StatusOr<CheckpointRecord> record = ParseRecord(kFile, Resealed(bytes));
  if (!record.ok()) return PromiseRefusal(record.status());
  const absl::StatusOr<std::string> text = FormatRecord(kFile, *record);
  Promise(text.ok() && ParseRecord(kFile, *text).ok(), "what was read is refused when it is written");
}

}  // namespace partita
