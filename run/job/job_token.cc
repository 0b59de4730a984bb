#include "run/job/job_token.h"

#include "run/spec/spec_error.h"
#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"

namespace partita {
namespace {

constexpr int64_t kMostFileBytes = 64 << 10;

absl::StatusOr<std::string> FirstLine(const std::string& path) {
  absl::StatusOr<std::string> text = ReadRegularFile(path, kMostFileBytes);
  const absl::Status read = text.ok() ? TakeOffMark(path, *text) : text.status();
  if (!read.ok()) return FlagError("{}: {}", kTokenFileVariable, std::string(read.message()));
  return text->substr(0, text->find_first_of("\r\n"));
}

absl::Status CheckLength(const char* variable, const std::string& token) {
  if (token.size() >= kLeastTokenBytes) return absl::OkStatus();
  return FlagError("{} has {} characters, at least {} are needed", variable, token.size(), kLeastTokenBytes);
}

}  // namespace

absl::StatusOr<std::string> FindToken(const Environment& environment) {
  const auto given = environment(kTokenVariable), path = environment(kTokenFileVariable);
  if (!given && !path) return std::string();
  if (given && path) {
    return FlagError("{} and {} are both set: one of them is enough", kTokenVariable, kTokenFileVariable);
  }
  if (given) {
    RETURN_IF_ERROR(CheckLength(kTokenVariable, *given));
    return *given;
  }
  ASSIGN_OR_RETURN(const std::string token, FirstLine(*path));
  RETURN_IF_ERROR(CheckLength(kTokenFileVariable, token));
  return token;
}

}  // namespace partita
