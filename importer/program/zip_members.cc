#include "importer/program/zip_members.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <memory>
#include <vector>

#include "graph/value/node_name.h"
#include "runtime/base/file_kind.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr uint64_t kMostMembers = 1'000'000;
constexpr size_t kLongestName = 1024;
constexpr unsigned long kEncrypted = 1;  // a bit of a member's flags

using Archive = std::unique_ptr<void, decltype([](unzFile file) { unzClose(file); })>;

absl::Status Damaged(const std::string& path) { return InvalidArgument("{}: the zip archive is damaged", path); }

bool LeadsOut(const std::string& name) {
  return name.empty() || name[0] == '/' || name.find('\\') != std::string::npos ||
         name.find('\0') != std::string::npos || ("/" + name + "/").find("/../") != std::string::npos;
}

absl::StatusOr<ZipMember> CurrentMember(const std::string& path, unzFile archive, std::string& name) {
  unz_file_info64 info = {};
  if (unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) return Damaged(path);
  if (info.size_filename > kLongestName) {
    return InvalidArgument("{}: a member's name has {} bytes; expected at most {}", path, info.size_filename,
                           kLongestName);
  }
  name.assign(info.size_filename, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK) {
    return Damaged(path);
  }
  if (LeadsOut(name)) {
    return InvalidArgument("{}: member {} has a path that leads out of the archive", path, Quoted(name));
  }
  if (name.find("/code/__torch__") != std::string::npos) {
    return InvalidArgument(
        "{}: is a TorchScript archive (torch.jit.save), not an exported program; write the module with "
        "torch.export.save (docs/guide/pytorch.md 1)",
        path);
  }
  if ((info.flag & kEncrypted) != 0 || info.compression_method != 0) {
    return InvalidArgument(
        "{}: member {} is {}; expected members that are stored as they are, as torch.export.save "
        "writes them",
        path, Quoted(name), (info.flag & kEncrypted) != 0 ? "encrypted" : "compressed");
  }
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(archive, &method, &level, /*raw=*/1) != UNZ_OK) return Damaged(path);
  const auto begin = static_cast<int64_t>(unzGetCurrentFileZStreamPos64(archive));
  unzCloseCurrentFile(archive);
  if (info.compressed_size != info.uncompressed_size || begin <= 0) return Damaged(path);
  return ZipMember{begin, static_cast<int64_t>(info.uncompressed_size), static_cast<uint32_t>(info.crc)};
}

absl::Status CheckApart(const std::string& path, const std::map<std::string, ZipMember>& members, int64_t size) {
  std::map<int64_t, int64_t> ends;  // by begin
  for (const auto& [name, member] : members) {
    if (member.size < 0 || member.begin > size || member.size > size - member.begin) {
      return InvalidArgument("{}: member {} lies outside the file", path, Quoted(name));
    }
    if (member.size == 0) continue;
    if (!ends.emplace(member.begin, member.begin + member.size).second) return Damaged(path);
  }
  int64_t last = 0;
  for (const auto& [begin, end] : ends) {
    if (begin < last) return InvalidArgument("{}: members of the zip archive overlap", path);
    last = end;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, ZipMember>> MembersOfZip(const std::string& path) {
  ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  const Archive archive(unzOpen64(path.c_str()));
  if (archive == nullptr) {
    return InvalidArgument("{}: is {}; expected the zip archive of an exported program (torch.export.save)", path,
                           KindOfFileAt(path));
  }
  unz_global_info64 info = {};
  if (unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) return Damaged(path);
  if (info.number_entry > kMostMembers) {
    return InvalidArgument("{}: the archive has {} members; expected at most {}", path, info.number_entry,
                           kMostMembers);
  }
  std::map<std::string, ZipMember> members;
  int code = unzGoToFirstFile(archive.get());
  for (; code == UNZ_OK; code = unzGoToNextFile(archive.get())) {
    std::string name;
    ASSIGN_OR_RETURN(const ZipMember member, CurrentMember(path, archive.get(), name));
    if (!members.emplace(name, member).second) {
      return InvalidArgument("{}: member {} is there twice", path, Quoted(name));
    }
  }
  if (code != UNZ_END_OF_LIST_OF_FILE) return Damaged(path);
  RETURN_IF_ERROR(CheckApart(path, members, file.size()));
  return members;
}

absl::StatusOr<std::string> ReadMember(const std::string& path, const std::string& name, const ZipMember& member,
                                       int64_t limit) {
  if (member.size > limit) {
    return InvalidArgument("{}: member {} has {} bytes; expected at most {}", path, Quoted(name), member.size, limit);
  }
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  if (member.begin + member.size > file.size()) return InvalidArgument("{}: the file became shorter", path);
  RETURN_IF_ERROR(file.Skip(member.begin));
  std::string bytes;
  RETURN_IF_ERROR(file.Append(member.size, bytes));
  const uLong checksum = crc32_z(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (checksum != member.checksum) return InvalidArgument("{}: member {} is damaged", path, Quoted(name));
  return bytes;
}

}  // namespace partita
