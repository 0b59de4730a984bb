#include "runtime/comm/nccl/nccl_algorithms.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace partita {
namespace {

// "ring,tree": these alone. "^nvls": all but these.
bool Excludes(const std::string& algorithm, const std::string& list) {
  const bool others = list.starts_with('^');
  bool named = false;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(list.substr(others ? 1 : 0), ','))) {
    named = named || name == algorithm;
  }
  return named == others;
}

}  // namespace

bool ExcludesNvls(const char* algorithms) {
  if (algorithms == nullptr || *algorithms == '\0') return false;
  bool all_reduce = false, reduce_scatter = false;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(absl::AsciiStrToLower(algorithms), ';'))) {
    const size_t colon = part.find(':');
    const std::string list = part.substr(colon == std::string::npos ? 0 : colon + 1);
    const std::string function = colon == std::string::npos ? "" : part.substr(0, colon);
    if (function.empty() || function == "allreduce") {
      all_reduce = Excludes("nvls", list) && Excludes("nvlstree", list);
    }
    if (function.empty() || function == "reducescatter") reduce_scatter = Excludes("nvls", list);
  }
  return all_reduce && reduce_scatter;
}

}  // namespace partita
