// Names the kind of a file that its reader cannot use, from its first bytes, for the error message.
#ifndef PARTITA_RUNTIME_BASE_FILE_KIND_H_
#define PARTITA_RUNTIME_BASE_FILE_KIND_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace partita {

// As many first bytes of a file suffice.
inline constexpr int64_t kFileKindBytes = 512;

inline constexpr std::string_view kUnknownKind = "something else", kTorchKind = "a PyTorch checkpoint (torch.save)";

// "a GIF picture", kTorchKind, "text", "an empty file"; kUnknownKind where none of them is recognized.
std::string_view KindOfFile(std::string_view beginning);

// The same of a file on the disk; kUnknownKind where it cannot be read.
std::string_view KindOfFileAt(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_FILE_KIND_H_
