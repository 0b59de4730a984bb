#include "runtime/checkpoint/checksum.h"

#include <functional>
#include <numeric>
#include <string_view>

#include "runtime/base/status.h"

namespace partita {
namespace {

// Also a key that was the checksum's until a byte of it was damaged.
bool IsOurs(std::string_view key) {
  const std::string_view checksum = kChecksumKey;
  if (key.starts_with(kOwnKeys)) return true;
  return key.size() == checksum.size() &&
         std::inner_product(key.begin(), key.end(), checksum.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1;
}

absl::Status CheckForeign(const std::string& file, const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, text] : metadata) {
    if (!IsOurs(key)) continue;
    return InvalidArgument(
        "{}: metadata {}: found without {}, which our files have: the file was damaged, or changed by a program that "
        "does not know the checksum",
        file, Printable(key), kChecksumKey);
  }
  return absl::OkStatus();
}

}  // namespace

std::string FileHash::Text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string HashOfBytes(std::string_view bytes) {
  FileHash hash;
  hash.Add(bytes.data(), bytes.size());
  return hash.Text();
}

absl::StatusOr<FileHash> HashOfHeader(const std::string& file, Header header) {
  header.metadata.erase(kChecksumKey);
  ASSIGN_OR_RETURN(const std::string json, FormatHeader(file, header));
  FileHash hash;
  hash.Add(json.data(), json.size());
  return hash;
}

absl::Status CheckChecksum(const std::string& file, const std::map<std::string, std::string>& metadata,
                           const FileHash& hash) {
  const auto expected = metadata.find(kChecksumKey);
  if (expected == metadata.end()) return CheckForeign(file, metadata);
  if (hash.Text() == expected->second) return absl::OkStatus();
  return InvalidArgument(
      "{}: found checksum {}, its metadata says {}: the file was damaged, or changed by a program that does not know "
      "the checksum",
      file, hash.Text(), Printable(expected->second));
}

}  // namespace partita
