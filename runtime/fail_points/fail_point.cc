#include "runtime/fail_points/fail_point.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr FailPointName kPoints[] = {
    {FailPoint::kJobJoined, "job.joined", "all ranks have joined, and do not talk yet"},
    {FailPoint::kJobConnected, "job.connected", "ranks can talk, and the session is to be made"},
    {FailPoint::kTrainingStep, "training.step", "a step has ended"},
    {FailPoint::kTrainingEvaluation, "training.evaluation", "an epoch has ended, its evaluation is to begin"},
    {FailPoint::kCheckpointBegun, "checkpoint.begun", "the folder of a checkpoint that is being written is there"},
    {FailPoint::kCheckpointShards, "checkpoint.shards", "this rank's shard is on the disk"},
    {FailPoint::kCheckpointRecord, "checkpoint.record", "rank 0 knows all shards, and is to write the record"},
    {FailPoint::kCheckpointCommitted, "checkpoint.committed", "the checkpoint is there"},
    {FailPoint::kJobLeaving, "job.leaving", "all is done, and the others are to be told"},
};

enum class Action : uint8_t { kKill, kError, kWait };

constexpr std::pair<const char*, Action> kActions[] = {
    {"kill", Action::kKill}, {"error", Action::kError}, {"wait", Action::kWait}};

struct Armed {
  FailPoint point = FailPoint::kJobJoined;
  Action action = Action::kKill;
  int64_t pass = 1;
  std::atomic<int64_t> passed{0};
};

// Never freed: threads that end with the process may still pass.
std::vector<Armed*>& AllArmed() {
  static auto& all = *new std::vector<Armed*>();
  return all;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(Trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// What stands before and behind the first '='.
std::pair<std::string_view, std::string_view> Halves(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, ""};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

absl::StatusOr<int64_t> Number(std::string_view text, int64_t least) {
  if (const std::optional<int64_t> number = NumberOf<int64_t>(text); number && *number >= least) return *number;
  return InvalidArgument("found '{}', a number from {} is needed", text, least);
}

struct Arming {
  FailPoint point = FailPoint::kJobJoined;
  Action action = Action::kKill;
  std::optional<int64_t> rank, start;
  int64_t pass = 1;

  bool IsOf(const FailPointProcess& process) const {
    return rank.value_or(process.rank) == process.rank && start.value_or(process.start) == process.start;
  }
};

absl::StatusOr<Arming> Parse(std::string_view text) {
  const std::vector<std::string_view> words = Split(text, ',');
  const auto [name, action] = Halves(words[0]);
  const auto point = std::ranges::find(kPoints, name, &FailPointName::name);
  if (point == std::end(kPoints)) return InvalidArgument("there is no fail point '{}'", name);
  const auto known = std::ranges::find(kActions, action, &std::pair<const char*, Action>::first);
  if (known == std::end(kActions)) {
    return InvalidArgument("fail point '{}': found '{}', allowed are kill, error, wait", name, action);
  }
  Arming arming{.point = point->point, .action = known->second, .rank = {}, .start = {}};
  for (size_t w = 1; w < words.size(); ++w) {
    const auto [key, value] = Halves(words[w]);
    if (key != "rank" && key != "start" && key != "pass") {
      return InvalidArgument("fail point '{}': found '{}', allowed are rank, start, pass", name, key);
    }
    const absl::StatusOr<int64_t> number = Number(value, key == "pass" ? 1 : 0);
    if (!number.ok()) return WithContext(fmt::format("fail point '{}': {}", name, key), number.status());
    if (key == "rank") arming.rank = *number;
    if (key == "start") arming.start = *number;
    if (key == "pass") arming.pass = *number;
  }
  return arming;
}

const char* NameOf(FailPoint point) { return std::ranges::find(kPoints, point, &FailPointName::point)->name; }

[[noreturn]] void WaitForEver() {
  while (true) pause();
}

}  // namespace

std::span<const FailPointName> FailPoints() { return kPoints; }

absl::Status ArmFailPoints(const std::string& text, const FailPointProcess& process) {
  if (Trimmed(text).empty()) return absl::OkStatus();
  std::vector<Arming> armings;
  for (const std::string_view part : Split(text, ';')) {
    ASSIGN_OR_RETURN(Arming arming, Parse(part));
    armings.push_back(arming);
  }
  for (const Arming& arming : armings) {
    if (!arming.IsOf(process)) continue;
    auto* const armed = new Armed();
    armed->point = arming.point;
    armed->action = arming.action;
    armed->pass = arming.pass;
    AllArmed().push_back(armed);
    fail_point::any_armed.store(true);
  }
  return absl::OkStatus();
}

namespace fail_point {

std::atomic<bool> any_armed{false};

absl::Status PassArmed(FailPoint point) {
  for (Armed* const armed : AllArmed()) {
    if (armed->point != point || armed->passed.fetch_add(1) + 1 != armed->pass) continue;
    if (armed->action == Action::kWait) WaitForEver();
    if (armed->action == Action::kError) return Unavailable("fail point '{}'", NameOf(point));
    kill(getpid(), SIGKILL);
    WaitForEver();
  }
  return absl::OkStatus();
}

}  // namespace fail_point
}  // namespace partita
