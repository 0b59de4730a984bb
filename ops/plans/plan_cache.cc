#include "ops/plans/plan_cache.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/input_file.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;

// "partita-plan <bytes of the plan> <hash of key and plan> <key>\n<plan>"
std::string Entry(const std::string& key, const std::string& plan) {
  return fmt::format("partita-plan {} {:016x} {}\n{}", plan.size(), PhiloxKey(0, key + "\n" + plan), key, plan);
}

// Takes an entry off the front of `text`. False: there is none, or it is damaged.
bool TakeEntry(std::string& text, std::string& key, std::string& plan) {
  const size_t line = text.find('\n');
  if (line == std::string::npos) return false;
  std::vector<std::string> words;
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    const size_t space = text.find(' ', at);
    if (space == std::string::npos || space > line) return false;
    words.push_back(text.substr(at, space - at));
    at = space + 1;
  }
  key = text.substr(at, line - at);
  if (words[0] != "partita-plan" || words[1].empty() || words[1].size() > 9) return false;
  if (words[1].find_first_not_of("0123456789") != std::string::npos) return false;
  const size_t bytes = std::stoul(words[1]);
  if (text.size() - line - 1 < bytes) return false;
  plan = text.substr(line + 1, bytes);
  text.erase(0, line + 1 + bytes);
  return words[2] == fmt::format("{:016x}", PhiloxKey(0, key + "\n" + plan));
}

}  // namespace

std::string PlanCache::Path(const std::string& key) const {
  return fmt::format("{}/{:016x}.plan", folder_, PhiloxKey(0, key));
}

std::optional<std::string> PlanCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  if (folder_.empty()) return std::nullopt;
  std::optional<std::string> plan = Read(key);
  if (plan.has_value()) plans_[key] = *plan;
  return plan;
}

std::optional<std::string> PlanCache::Read(const std::string& key) const {
  const std::string path = Path(key);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  absl::StatusOr<std::string> text = ReadRegularFile(path, kMostBytes);
  if (!text.ok()) {
    Warn(std::string(text.status().message()));
    return std::nullopt;
  }
  std::string found_key, plan;
  if (!TakeEntry(*text, found_key, plan) || !text->empty()) {
    Warn(fmt::format("{}: the plan is damaged and is made anew", path));
    return std::nullopt;
  }
  if (found_key == key) return plan;
  Warn(fmt::format("{}: the plan is of '{}' and is made anew for '{}'", path, found_key, key));
  return std::nullopt;
}

bool PlanCache::Add(const std::string& key, const std::string& plan) {
  CHECK(key.find('\n') == std::string::npos);
  const std::lock_guard<std::mutex> lock(mutex_);
  plans_[key] = plan;
  if (folder_.empty()) return true;
  const absl::Status written = Write(key, plan);
  if (!written.ok() && !std::exchange(unwritable_, true)) {
    Warn(fmt::format("plans are not kept for the next run: {}", std::string(written.message())));
  }
  return written.ok();
}

absl::Status PlanCache::Write(const std::string& key, const std::string& plan) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return InvalidArgument("{}: cannot be made: {}", folder_, error.message());
  // Nothing reads a pipe that another user put there, so writing it would block for ever.
  const std::filesystem::file_status there = std::filesystem::symlink_status(Path(key), error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return InvalidArgument("{}: is not a regular file; expected a file, or nothing: remove it", Path(key));
  }
  const std::string entry = Entry(key, plan);
  if (static_cast<int64_t>(entry.size()) > kMostBytes) {
    return InvalidArgument("{}: a plan of {} bytes is larger than {}", Path(key), entry.size(), kMostBytes);
  }
  return WriteFileAtomically(Path(key), entry);
}

void PlanCache::Refuse(const std::string& key, const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  plans_.erase(key);
  Warn(fmt::format("the plan that was kept for '{}' is made anew: {}", key, why));
}

void PlanCache::Warn(const std::string& what) const {
  if (warn_) warn_(what);
}

std::string PlanCache::Export() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text;
  for (const auto& [key, plan] : plans_) text += Entry(key, plan);
  return text;
}

absl::Status PlanCache::Import(const std::string& text) {
  std::map<std::string, std::string> plans;
  std::string rest = text, key, plan;
  while (!rest.empty()) {
    if (!TakeEntry(rest, key, plan))
      return InvalidArgument("the plans of another rank are damaged: {} are whole", plans.size());
    plans[key] = plan;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, value] : plans) plans_[name] = std::move(value);
  return absl::OkStatus();
}

}  // namespace partita
