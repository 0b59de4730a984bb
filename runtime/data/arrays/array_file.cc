#include "runtime/data/arrays/array_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/file_kind.h"
#include "runtime/base/file_name.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/arrays/label_file.h"
#include "runtime/data/arrays/npy.h"
#include "runtime/data/arrays/npz.h"
#include "runtime/data/idx.h"

namespace partita {
namespace {

// A file that holds one array.
class SingleFile : public ArrayFile {
 public:
  SingleFile(std::string path, absl::StatusOr<Array> (*read)(const std::string& path))
      : path_(std::move(path)), read_(read) {}

  const std::vector<std::string>& keys() const override { return keys_; }
  absl::StatusOr<Array> Read(const std::string&) override { return read_(path_); }

 private:
  const std::string path_;
  absl::StatusOr<Array> (*const read_)(const std::string& path);
  const std::vector<std::string> keys_;
};

// A plain file, piece by piece.
class FileStream : public ByteStream {
 public:
  explicit FileStream(InputFile file) : file_(std::move(file)) {}

  absl::StatusOr<int64_t> Read(std::span<uint8_t> out) override {
    constexpr size_t kPiece = size_t{1} << 20;
    int64_t done = 0;
    while (!out.empty() && file_.rest() > 0) {
      piece_.clear();
      const auto count = std::min<int64_t>(static_cast<int64_t>(std::min(out.size(), kPiece)), file_.rest());
      RETURN_IF_ERROR(file_.Append(count, piece_));
      std::memcpy(out.data(), piece_.data(), piece_.size());
      out = out.subspan(piece_.size());
      done += count;
    }
    return done;
  }

  int64_t UpperBound() const override { return file_.rest(); }

 private:
  InputFile file_;
  std::string piece_;
};

absl::StatusOr<Array> ReadNpyFile(const std::string& path) {
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  FileStream stream(std::move(file));
  return ReadNpy(stream, path);
}

std::optional<ElementType> TypeOf(const StoredTensor& tensor) {
  constexpr std::pair<std::string_view, ElementType> kTypes[] = {
      {"BOOL", ElementType::kBool}, {"U8", ElementType::kU8},     {"I8", ElementType::kI8},
      {"U16", ElementType::kU16},   {"I16", ElementType::kI16},   {"U32", ElementType::kU32},
      {"I32", ElementType::kI32},   {"U64", ElementType::kU64},   {"I64", ElementType::kI64},
      {"F16", ElementType::kF16},   {"BF16", ElementType::kBF16}, {"F32", ElementType::kF32},
      {"F64", ElementType::kF64}};
  for (const auto& [name, type] : kTypes) {
    if (tensor.type->name == name) return type;
  }
  return std::nullopt;
}

class SafetensorsArrays : public ArrayFile {
 public:
  explicit SafetensorsArrays(SafetensorsFile file) : file_(std::move(file)) {
    for (const StoredTensor& tensor : file_.tensors()) keys_.push_back(tensor.name);
  }

  const std::vector<std::string>& keys() const override { return keys_; }

  absl::StatusOr<Array> Read(const std::string& key) override {
    const StoredTensor& tensor = *file_.Find(key);
    const std::string name = NameOf(file_.path(), key);
    const std::optional<ElementType> type = TypeOf(tensor);
    if (!type) {
      return InvalidArgument(
          "{}: found elements of {}; expected BOOL, integers (I8 to I64, U8 to U64) or F16, BF16, F32 and F64", name,
          tensor.type->name);
    }
    if (tensor.shape.empty() || std::ranges::find(tensor.shape, 0) != tensor.shape.end()) {
      return InvalidArgument("{}: found an array {}, allowed are rows in its first dimension and sizes from 1", name,
                             tensor.shape.empty() ? "without dimensions" : "without elements");
    }
    const auto bytes = file_.Bytes(tensor);
    const auto* const first = reinterpret_cast<const uint8_t*>(bytes.data());
    return Array{*type, {tensor.shape.begin(), tensor.shape.end()}, {first, first + bytes.size()}};
  }

 private:
  const SafetensorsFile file_;
  std::vector<std::string> keys_;
};

// Its first bytes, or all of them; enough to know it by.
absl::Status ReadBeginning(const std::string& path, std::string& bytes) {
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return file.Append(std::min(file.size(), kFileKindBytes), bytes);
}

// What to do with a file of this kind, for those that users take for a data set.
std::string_view AdviceOn(std::string_view kind) {
  if (kind.ends_with("picture"))
    return "; pictures are read from a folder: FOLDER/train/CLASS/..., FOLDER/test/CLASS/...";
  if (kind == "text") return "; numpy.loadtxt and numpy.savez make arrays of columns of text (CSV)";
  if (kind == "a tar archive") return "; an archive of pictures has a name that ends in .tar";
  return "";
}

absl::StatusOr<std::unique_ptr<ArrayFile>> OpenByBeginning(const std::string& path) {
  if (HasEnding(path, ".csv")) return std::make_unique<SingleFile>(path, ReadLabels);
  std::string beginning;
  RETURN_IF_ERROR(ReadBeginning(path, beginning));
  const std::string_view bytes = beginning;
  if (bytes.starts_with(kNpyMagic)) return std::make_unique<SingleFile>(path, ReadNpyFile);
  if (bytes.starts_with("PK\x03\x04")) return OpenNpz(path);
  // Before IDX: the length of a header may begin with zeros, too.
  if (bytes.size() > 8 && bytes[8] == '{') {
    ASSIGN_OR_RETURN(SafetensorsFile file, LoadSafetensors(path));
    return std::make_unique<SafetensorsArrays>(std::move(file));
  }
  if (bytes.starts_with("\x1f\x8b") || bytes.starts_with(std::string_view("\0\0", 2))) {
    return std::make_unique<SingleFile>(path, ReadIdx);
  }
  const std::string_view kind = KindOfFile(bytes);
  return InvalidArgument("{}: is {}; expected .npy, .npz, safetensors or IDX{}", path, kind, AdviceOn(kind));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArrayFile>> ArrayFile::Open(const std::string& path) {
  return OrExhausted(path.c_str(), [&] { return OpenByBeginning(path); });
}

std::string NameOf(const std::string& path, const std::string& key) {
  return key.empty() ? path : fmt::format("{}: array {}", path, Quoted(key));
}

}  // namespace partita
