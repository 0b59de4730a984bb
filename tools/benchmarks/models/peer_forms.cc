#include "tools/benchmarks/models/peer_forms.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// By default the C library takes large pieces from the system and gives them back at once, each time with new pages. Up
// to a GiB is kept here, as the allocators of other programs do.
std::vector<std::string> KeepMemory() {
  return {"MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=1073741824"};
}

}  // namespace

const std::vector<PeerForm>& PeerForms(bool gpu) {
  static const auto& host = *new std::vector<PeerForm>{{"eager", "eager", {}},
                                                       {"eager-malloc", "eager", KeepMemory()},
                                                       {"compile", "compile", {}},
                                                       {"compile-malloc", "compile", KeepMemory()}};
  static const auto& of_gpu =
      *new std::vector<PeerForm>{{"eager", "eager", {}}, {"graph", "graph", {}}, {"compile", "compile", {}}};
  return gpu ? of_gpu : host;
}

absl::StatusOr<std::vector<PeerForm>> ReadPeerForms(const std::string& names, bool gpu) {
  const std::vector<PeerForm>& known = PeerForms(gpu);
  if (names == "all") return known;
  std::vector<PeerForm> forms;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(names, ','))) {
    const auto found = std::ranges::find(known, name, &PeerForm::name);
    if (found == known.end()) {
      std::vector<std::string> all;
      for (const PeerForm& form : known) all.push_back(form.name);
      return InvalidArgument("form '{}' is none of {} or all", name, fmt::join(all, ", "));
    }
    forms.push_back(*found);
  }
  return forms;
}

}  // namespace partita
