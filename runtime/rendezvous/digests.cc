#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/rendezvous/rendezvous_client.h"

namespace partita {
namespace {

std::string Key(int rank, const std::string& field) { return fmt::format("digest/{}/{}", rank, field); }

}  // namespace

absl::Status CompareDigests(RendezvousClient& client, int rank, const std::map<std::string, std::string>& fields,
                            std::chrono::milliseconds timeout) {
  if (rank == 0) {
    std::string names;
    for (const auto& [field, value] : fields) {
      RETURN_IF_ERROR(client.Set(Key(0, field), value));
      names += field + "\n";
    }
    RETURN_IF_ERROR(client.Set("digest/names", names));
    return client.Barrier("digests", timeout);
  }
  std::map<std::string, std::string> own = fields;
  ASSIGN_OR_RETURN(const std::string names, client.Get("digest/names", timeout));
  std::map<std::string, std::string> first;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find('\n', begin), names.size());
    const std::string field = names.substr(begin, end - begin);
    ASSIGN_OR_RETURN(first[field], client.Get(Key(0, field), timeout));
    own.emplace(field, "");
    begin = end + 1;
  }
  for (const auto& [field, value] : own) {
    if (first[field] == value) continue;
    const absl::Status mismatch = InvalidArgument("ranks do not agree on {}: rank 0 has '{}', rank {} has '{}'", field,
                                                  first[field], rank, value);
    client.Fail(mismatch);
    return mismatch;
  }
  return client.Barrier("digests", timeout);
}

}  // namespace partita
