#include "runtime/base/file_kind.h"

#include <algorithm>

#include "runtime/base/input_file.h"

namespace partita {
namespace {

struct Signature {
  std::string_view begin, kind;
};

// A longer signature stands before one that begins it.
constexpr Signature kSignatures[] = {
    {"\xff\xd8\xff", "a JPEG picture"},
    {"\x89PNG\r\n\x1a\n", "a PNG picture"},
    {"GIF8", "a GIF picture"},
    {"BM", "a BMP picture"},
    {"II*", "a TIFF picture"},
    {std::string_view("MM\0*", 4), "a TIFF picture"},
    {"\x93NUMPY", "a NumPy array (.npy)"},
    {"\x1f\x8b", "a file compressed by gzip"},
    {"BZh", "a file compressed by bzip2"},
    {"\xfd"
     "7zXZ",
     "a file compressed by xz"},
    {"\x28\xb5\x2f\xfd", "a file compressed by zstd"},
    {"\x89HDF", "an HDF5 file"},
    {"PAR1", "a Parquet file"},
    {"ARROW1", "an Arrow file"},
    {"GGUF", "a GGUF model"},
    {"%PDF", "a PDF document"},
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", kTorchKind},
    {"\x80\x02", "a Python pickle"},
    {"\x80\x03", "a Python pickle"},
    {"\x80\x04", "a Python pickle"},
    {"\x80\x05", "a Python pickle"},
};

std::string_view KindOfZip(std::string_view beginning) {
  const auto has = [&](std::string_view name) { return beginning.find(name) != std::string_view::npos; };
  if (has("/data.pkl") || has("/constants.pkl") || has("/.format_version")) return kTorchKind;
  return has(".npy") ? "NumPy arrays (.npz)" : "a zip archive";
}

bool IsText(std::string_view beginning) {
  return std::ranges::none_of(beginning, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f') || byte == 0x7f;
  });
}

}  // namespace

std::string_view KindOfFile(std::string_view beginning) {
  constexpr size_t kTarMagic = 257, kWebP = 8;
  if (beginning.empty()) return "an empty file";
  if (beginning.starts_with("PK\x03\x04")) return KindOfZip(beginning);
  for (const Signature& signature : kSignatures) {
    if (beginning.starts_with(signature.begin)) return signature.kind;
  }
  if (beginning.starts_with("RIFF") && beginning.substr(std::min(kWebP, beginning.size())).starts_with("WEBP")) {
    return "a WebP picture";
  }
  if (beginning.substr(std::min(kTarMagic, beginning.size())).starts_with("ustar")) return "a tar archive";
  return IsText(beginning) ? std::string_view("text") : kUnknownKind;
}

std::string_view KindOfFileAt(const std::string& path) {
  std::string beginning;
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok() || !file->Append(std::min(file->size(), kFileKindBytes), beginning).ok()) return kUnknownKind;
  return KindOfFile(beginning);
}

}  // namespace partita
