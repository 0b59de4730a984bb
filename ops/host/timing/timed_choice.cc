#include "ops/host/timing/timed_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/host/timing/machine.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Choice = TimedChoice::Choice;

// Raised when kernels have become faster or slower under the same names.
constexpr int kTimings = 1;

constexpr double kMargin = 1.05;

// "<form>\n<remark>"
std::string TextOf(const Choice& choice) { return choice.form + "\n" + choice.remark; }

Choice ChoiceOf(const std::string& text) {
  const size_t end = text.find('\n');
  return end == std::string::npos ? Choice{text, ""} : Choice{text.substr(0, end), text.substr(end + 1)};
}

size_t FastestOf(const std::vector<double>& seconds) {
  const auto fastest = std::ranges::min_element(seconds);
  return seconds.front() <= kMargin * *fastest ? 0 : static_cast<size_t>(fastest - seconds.begin());
}

std::string Remark(std::span<const Form> forms, const std::vector<double>& seconds) {
  std::string text;
  for (size_t i = 0; i < forms.size(); ++i) {
    text += fmt::format("{}{} {:.3f} ms", i == 0 ? "of " : ", ", forms[i].name, seconds[i] * 1e3);
  }
  return text;
}

}  // namespace

TimedChoice::TimedChoice(HostTiming timing, int threads)
    : timing_(std::move(timing)), threads_(threads), kept_(timing_.folder, timing_.warn) {
  if (!timing_.timer) timing_.timer = TimerOnThreads(threads);
  if (timing_.machine.empty()) timing_.machine = HostMachine();
}

std::string TimedChoice::KeyOf(const std::string& signature) const {
  return fmt::format("host kernel {}: {}, {} threads: {}", kTimings, timing_.machine, threads_, signature);
}

std::optional<Choice> TimedChoice::Find(const std::string& signature) {
  if (const auto chosen = chosen_.Find(signature)) return ChoiceOf(*chosen);
  const std::lock_guard lock(mutex_);
  if (adopted_) return std::nullopt;
  const auto kept = kept_.Find(KeyOf(signature));
  if (!kept) return std::nullopt;
  chosen_.Add(signature, *kept);
  return ChoiceOf(*kept);
}

Choice TimedChoice::Choose(const std::string& signature, const LocalNode& node, std::span<const Form> forms) {
  const std::lock_guard lock(mutex_);
  if (const auto chosen = chosen_.Find(signature)) return ChoiceOf(*chosen);  // by another thread
  const bool times = timing_.times && !timing_.folder.empty() && !adopted_ && !unkept_ && forms.size() > 1;
  const Choice choice = times ? Time(signature, node, forms) : Choice{forms.front().name, ""};
  chosen_.Add(signature, TextOf(choice));
  return choice;
}

Choice TimedChoice::Time(const std::string& signature, const LocalNode& node, std::span<const Form> forms) {
  if (timing_.tell && !std::exchange(told_, true)) {
    timing_.tell(fmt::format("convolutions are timed in each form that computes them, once on such a machine ({})",
                             timing_.folder));
  }
  const Choice rule{forms.front().name, ""};
  const absl::StatusOr<std::vector<double>> seconds = timing_.timer(node, forms);
  if (!seconds.ok()) {
    if (timing_.warn)
      timing_.warn(fmt::format("{} is not timed: {}", signature, std::string(seconds.status().message())));
    return rule;
  }
  const Choice timed{forms[FastestOf(*seconds)].name, Remark(forms, *seconds)};
  const std::string key = KeyOf(signature);
  // Of another process, meanwhile; what is wrong with a file was told before.
  if (const auto first = PlanCache(timing_.folder).Find(key)) {
    const Choice choice = ChoiceOf(*first);
    if (std::ranges::find(forms, choice.form, &Form::name) != forms.end()) return choice;
  }
  unkept_ = !kept_.Add(key, TextOf(timed));
  if (unkept_) return rule;
  if (timing_.detail) timing_.detail(fmt::format("{}: {}, {}", signature, timed.form, timed.remark));
  return timed;
}

void TimedChoice::Refuse(const std::string& signature, const std::string& why) {
  const std::lock_guard lock(mutex_);
  chosen_.Refuse(signature, why);
  if (!adopted_) kept_.Refuse(KeyOf(signature), why);
}

std::string TimedChoice::Choices() const { return chosen_.Export(); }

absl::Status TimedChoice::Adopt(const std::string& choices) {
  const std::lock_guard lock(mutex_);
  adopted_ = true;
  return chosen_.Import(choices);
}

}  // namespace partita
