#include "runtime/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/file_kind.h"
#include "runtime/base/files.h"
#include "runtime/base/input_file.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;
constexpr char kFormatKey[] = "format";
constexpr int64_t kPieceBytes = 1 << 20;

std::string ShapeText(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

// Bytes of a tensor, each product checked; false where 64 bits do not hold it or the last byte is not full.
bool SizeInBytes(std::span<const int64_t> shape, int64_t bits, int64_t& bytes) {
  int64_t product = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return false;
  }
  if (__builtin_mul_overflow(product, bits, &product) || product % 8 != 0) return false;
  bytes = product / 8;
  return true;
}

// Writing.

absl::Status CheckTensor(const std::string& file, const NamedTensor& tensor) {
  if (tensor.name.empty() || tensor.name == "__metadata__") {
    return InvalidArgument("{}: tensor {}: found a name that the format does not allow", file, Printable(tensor.name));
  }
  int64_t bytes = 0;
  if (SizeInBytes(tensor.shape, 8 * SizeOf(tensor.dtype), bytes)) return absl::OkStatus();
  return InvalidArgument("{}: tensor {}: found {}{}, allowed are sizes from 0 on, of less than 2^60 bytes", file,
                         Printable(tensor.name), Name(tensor.dtype), ShapeText(tensor.shape));
}

// Of a tensor that was checked.
absl::Status CheckBytes(const std::string& file, const NamedTensor& tensor, int64_t bytes) {
  if (bytes == static_cast<int64_t>(tensor.bytes.size())) return absl::OkStatus();
  return InvalidArgument("{}: tensor {}: found {} bytes, {}{} needs another number", file, Printable(tensor.name),
                         tensor.bytes.size(), Name(tensor.dtype), ShapeText(tensor.shape));
}

absl::Status CheckInput(const std::string& file, std::span<const NamedTensor> tensors, const Metadata& metadata) {
  std::vector<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    RETURN_IF_ERROR(CheckTensor(file, tensor));
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return InvalidArgument("{}: tensor {}: found twice, allowed is once", file, Printable(*twice));
  }
  for (const char* key : {kFormatKey, kChecksumKey}) {
    if (metadata.contains(key)) return InvalidArgument("{}: metadata {}: found, but it is the writer's", file, key);
  }
  return absl::OkStatus();
}

// By alignment, largest first, then by name: every tensor lies aligned, and the order of the caller does not matter.
std::vector<size_t> InFileOrder(std::span<const NamedTensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const StoredType *x = StoredTypeOf(tensors[a].dtype), *y = StoredTypeOf(tensors[b].dtype);
    return x != y ? x > y : tensors[a].name < tensors[b].name;
  });
  return order;
}

// Reading.

// Of a file of `size` bytes that begins with `bytes`.
absl::StatusOr<int64_t> HeaderLength(const std::string& file, std::string_view bytes, int64_t size) {
  if (bytes.size() < kLengthBytes) {
    return InvalidArgument("{}: found {} bytes, a file has at least {}", file, size, kLengthBytes);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= uint64_t{static_cast<uint8_t>(bytes[i])} << 8 * i;
  if (length > kLongestHeader) {
    return InvalidArgument("{}: offset 0: found a header length of {}, allowed are at most {}", file, length,
                           kLongestHeader);
  }
  const uint64_t behind = static_cast<uint64_t>(size) - kLengthBytes;
  if (length > behind) {
    return InvalidArgument("{}: offset 0: found a header length of {}, the file has {} bytes behind it", file, length,
                           behind);
  }
  return static_cast<int64_t>(length);
}

// Of a file without the beginning of a safetensors file, as `status` says: what it is, where that is known.
absl::Status OtherKind(const std::string& path, const absl::Status& status) {
  const std::string_view kind = KindOfFileAt(path);
  if (kind == kUnknownKind) return status;
  const bool torch = kind == kTorchKind;
  return InvalidArgument("{}: is {}; expected a safetensors file{}", path, kind,
                         torch ? ", which safetensors.torch.save_file(state_dict, FILE) writes" : "");
}

// The tensors, by offset, must cover the buffer without hole or overlap, each with exactly its bytes.
absl::Status CheckTiling(const std::string& file, const Header& header, int64_t buffer) {
  int64_t reached = 0;
  for (const StoredTensor& tensor : header.tensors) {
    const std::string place = fmt::format("{}: tensor {}", file, Printable(tensor.name));
    if (tensor.begin != reached || tensor.end < tensor.begin) {
      return InvalidArgument(
          "{}: data_offsets: found [{},{}], allowed is a begin at {} (no hole, no overlap) and an end "
          "not before it",
          place, tensor.begin, tensor.end, reached);
    }
    int64_t bytes = 0;
    if (!SizeInBytes(tensor.shape, tensor.type->bits, bytes)) {
      return InvalidArgument("{}: shape: found {}{}, allowed is a whole number of bytes below 2^60", place,
                             tensor.type->name, ShapeText(tensor.shape));
    }
    if (bytes != tensor.end - tensor.begin) {
      return InvalidArgument("{}: data_offsets: found {} bytes, {}{} has {}", place, tensor.end - tensor.begin,
                             tensor.type->name, ShapeText(tensor.shape), bytes);
    }
    reached = tensor.end;
  }
  if (reached != buffer) {
    return InvalidArgument("{}: found {} bytes behind the header, its tensors have {}", file, buffer, reached);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsOutline> SafetensorsOutline::Make(const std::string& file,
                                                            std::span<const NamedTensor> tensors,
                                                            const Metadata& metadata) {
  RETURN_IF_ERROR(CheckInput(file, tensors, metadata));
  Header header{metadata, {}};
  header.metadata[kFormatKey] = "pt";
  std::vector<size_t> order = InFileOrder(tensors);
  int64_t end = 0;
  for (const size_t t : order) {
    const int64_t begin = end;
    int64_t bytes = 0;
    CHECK(SizeInBytes(tensors[t].shape, 8 * SizeOf(tensors[t].dtype), bytes));
    end += bytes;
    header.tensors.push_back({tensors[t].name, StoredTypeOf(tensors[t].dtype), tensors[t].shape, begin, end});
  }
  return SafetensorsOutline(file, std::move(header), std::move(order));
}

int64_t SafetensorsOutline::bytes(size_t place) const {
  return header_.tensors[place].end - header_.tensors[place].begin;
}

absl::StatusOr<FileHash> SafetensorsOutline::BeginHash() const { return HashOfHeader(file_, header_); }

absl::StatusOr<std::string> SafetensorsOutline::Head(const FileHash& hash) const {
  Header header = header_;
  header.metadata[kChecksumKey] = hash.Text();
  ASSIGN_OR_RETURN(const std::string json, FormatHeader(file_, header));
  if (json.size() > kLongestHeader) {
    return InvalidArgument("{}: found a header of {} bytes, allowed are at most {}", file_, json.size(),
                           kLongestHeader);
  }
  std::string head;
  for (size_t i = 0; i < kLengthBytes; ++i) head.push_back(static_cast<char>(uint64_t{json.size()} >> 8 * i));
  return head + json;
}

absl::StatusOr<EncodedFile> EncodeSafetensors(const std::string& file, std::span<const NamedTensor> tensors,
                                              const Metadata& metadata) {
  ASSIGN_OR_RETURN(const SafetensorsOutline outline, SafetensorsOutline::Make(file, tensors, metadata));
  ASSIGN_OR_RETURN(FileHash hash, outline.BeginHash());
  EncodedFile result;
  for (size_t place = 0; place < outline.order().size(); ++place) {
    const NamedTensor& tensor = tensors[outline.order()[place]];
    RETURN_IF_ERROR(CheckBytes(file, tensor, outline.bytes(place)));
    hash.Add(tensor.bytes.data(), tensor.bytes.size());
    result.tensors.push_back(tensor.bytes);
  }
  ASSIGN_OR_RETURN(result.head, outline.Head(hash));
  return result;
}

absl::Status SaveSafetensors(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata) {
  ASSIGN_OR_RETURN(const EncodedFile encoded, EncodeSafetensors(path, tensors, metadata));
  std::vector<std::string_view> pieces = {encoded.head};
  for (const std::span<const std::byte> bytes : encoded.tensors) {
    pieces.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return WriteFileAtomically(path, pieces);
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Parse(const std::string& file, std::string bytes) {
  ASSIGN_OR_RETURN(const int64_t length, HeaderLength(file, bytes, static_cast<int64_t>(bytes.size())));
  const size_t data = kLengthBytes + static_cast<size_t>(length);
  const std::string_view json = std::string_view(bytes).substr(kLengthBytes, static_cast<size_t>(length));
  ASSIGN_OR_RETURN(SafetensorsFile parsed, OfHeader(file, json, static_cast<int64_t>(bytes.size() - data)));
  ASSIGN_OR_RETURN(FileHash hash, HashOfHeader(file, parsed.header_));
  hash.Add(bytes.data() + data, bytes.size() - data);
  RETURN_IF_ERROR(CheckChecksum(file, parsed.metadata(), hash));
  parsed.bytes_ = std::move(bytes);
  parsed.data_ = data;
  return parsed;
}

// `buffer`: how many bytes lie behind the header.
absl::StatusOr<SafetensorsFile> SafetensorsFile::OfHeader(const std::string& file, std::string_view json,
                                                          int64_t buffer) {
  ASSIGN_OR_RETURN(Header header, ParseHeader(file, json));
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  RETURN_IF_ERROR(CheckTiling(file, header, buffer));
  return SafetensorsFile(file, std::move(header));
}

SafetensorsFile::SafetensorsFile(std::string path, Header header) : path_(std::move(path)), header_(std::move(header)) {
  for (size_t i = 0; i < header_.tensors.size(); ++i) by_name_[header_.tensors[i].name] = i;
}

std::string SafetensorsFile::Digest() const {
  FileHash hash;
  for (const auto& [name, index] : by_name_) {  // not by place in the file, which may be any
    const StoredTensor& tensor = header_.tensors[index];
    const std::string entry = fmt::format("{}:{} {}{}", name.size(), name, tensor.type->name, ShapeText(tensor.shape));
    const std::span<const std::byte> bytes = Bytes(tensor);
    hash.Add(entry.data(), entry.size());
    hash.Add(bytes.data(), bytes.size());
  }
  return hash.Text();
}

const StoredTensor* SafetensorsFile::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

std::span<const std::byte> SafetensorsFile::Bytes(const StoredTensor& tensor) const {
  return std::as_bytes(std::span(bytes_)).subspan(data_ + tensor.begin, tensor.end - tensor.begin);
}

absl::StatusOr<const StoredTensor*> SafetensorsFile::Find(std::string_view name, DType dtype,
                                                          std::span<const int64_t> shape) const {
  const StoredTensor* tensor = Find(name);
  if (tensor == nullptr) {
    std::string found;
    for (size_t i = 0; i < std::min<size_t>(header_.tensors.size(), 5); ++i) {
      found += (i == 0 ? ": " : ", ") + Printable(header_.tensors[i].name);
    }
    return InvalidArgument("{}: tensor {}: not found among the {} of the file{}{}", path_, Printable(name),
                           header_.tensors.size(), found, header_.tensors.size() > 5 ? ", ..." : "");
  }
  const StoredType* type = StoredTypeOf(dtype);
  if (tensor->type != type || !std::equal(tensor->shape.begin(), tensor->shape.end(), shape.begin(), shape.end())) {
    return InvalidArgument("{}: tensor {}: found {}{}, needed is {}{}", path_, Printable(name), tensor->type->name,
                           ShapeText(tensor->shape), type->name, ShapeText(shape));
  }
  return tensor;
}

absl::StatusOr<std::span<const std::byte>> SafetensorsFile::Get(std::string_view name, DType dtype,
                                                                std::span<const int64_t> shape) const {
  ASSIGN_OR_RETURN(const StoredTensor* const tensor, Find(name, dtype, shape));
  return Bytes(*tensor);
}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(const std::string& path, Links links) {
  ASSIGN_OR_RETURN(InputFile input, InputFile::Open(path, links));
  std::string head;
  RETURN_IF_ERROR(input.Append(std::min<int64_t>(kLengthBytes, input.rest()), head));
  const absl::StatusOr<int64_t> found = HeaderLength(path, head, input.size());
  if (!found.ok()) return OtherKind(path, found.status());
  const int64_t length = *found;
  RETURN_IF_ERROR(input.Append(length, head));
  const std::string_view json = std::string_view(head).substr(kLengthBytes);
  ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::OfHeader(path, json, input.rest()));
  return SafetensorsReader(std::move(input), std::move(file));
}

absl::Status SafetensorsReader::ReadPieces(const TakePiece& take) {
  ASSIGN_OR_RETURN(FileHash hash, HashOfHeader(file_.path(), file_.header_));
  std::string piece;
  for (const StoredTensor& tensor : file_.tensors()) {
    for (int64_t left = tensor.end - tensor.begin; left > 0; left -= static_cast<int64_t>(piece.size())) {
      piece.clear();
      RETURN_IF_ERROR(input_.Append(std::min(left, kPieceBytes), piece));
      hash.Add(piece.data(), piece.size());
      take(tensor, piece);
    }
  }
  RETURN_IF_ERROR(input_.CheckEnd());
  return CheckChecksum(file_.path(), file_.metadata(), hash);
}

absl::StatusOr<SafetensorsFile> SafetensorsReader::Read(const TensorChoice& keep) && {
  ASSIGN_OR_RETURN(std::string bytes, RoomFor(keep));
  RETURN_IF_ERROR(ReadPieces([&](const StoredTensor& tensor, std::string_view piece) {
    if (!keep || keep(tensor)) bytes += piece;
  }));
  std::vector<StoredTensor> kept;
  int64_t end = 0;
  for (StoredTensor& tensor : file_.header_.tensors) {
    if (keep && !keep(tensor)) continue;
    const int64_t begin = end;
    end += tensor.end - tensor.begin;
    kept.push_back({std::move(tensor.name), tensor.type, std::move(tensor.shape), begin, end});
  }
  SafetensorsFile file(file_.path_, {std::move(file_.header_.metadata), std::move(kept)});
  file.bytes_ = std::move(bytes);
  return file;
}

absl::StatusOr<std::string> SafetensorsReader::RoomFor(const TensorChoice& keep) const {
  int64_t total = 0;
  for (const StoredTensor& tensor : file_.tensors()) total += !keep || keep(tensor) ? tensor.end - tensor.begin : 0;
  RETURN_IF_ERROR(CheckMemory(file_.path(), total));
  return OrExhausted(file_.path().c_str(), [&]() -> absl::StatusOr<std::string> {
    std::string bytes;
    bytes.reserve(static_cast<size_t>(total));
    return bytes;
  });
}

absl::StatusOr<SafetensorsFile> LoadSafetensors(const std::string& path) {
  ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path));
  return std::move(reader).Read(nullptr);
}

}  // namespace partita
