#include "run/beginning/run_record.h"

#include <iterator>
#include <set>
#include <sstream>

#include "graph/read/adapted_model.h"
#include "ops/registry.h"
#include "run/spec/spec_error.h"

namespace partita {
namespace {

// Of pictures alone what is asked for: other data knows nothing of it.
std::string AugmentationOf(const RunSpec& spec) {
  std::string text =
      fmt::format("flip={} shift={}", spec.dataset().augmentation().flip(), spec.dataset().augmentation().shift());
  if (spec.dataset().augmentation().has_crop_area())
    text += fmt::format(" crop_area={}", spec.dataset().augmentation().crop_area());
  if (spec.dataset().augmentation().colour() > 0)
    text += fmt::format(" colour={}", spec.dataset().augmentation().colour());
  return text;
}

// The words of a text that another one has not.
std::string OtherWords(const std::string& text, const std::string& than) {
  std::istringstream known_words(than), words(text);
  const std::set<std::string> known(std::istream_iterator<std::string>(known_words), {});
  std::string others;
  for (std::string word; words >> word;) {
    if (!known.contains(word)) others += (others.empty() ? "" : " ") + word;
  }
  return others;
}

}  // namespace

ModelRecord RecordOfRun(const RunSpec& spec, const Model& model, const TrainingData& data) {
  TrainingPosition position;
  position.run = {{"batch", fmt::to_string(data.training->batch_rows())},
                  {"data", data.manifest},
                  {"seed", fmt::to_string(spec.train().seed())},
                  {"steps_per_epoch", fmt::to_string(data.training->batches_per_epoch())}};
  position.recipe = {{"augmentation", AugmentationOf(spec)}, {"precision", spec.execution().precision()}};
  if (const std::vector<Adapter> adapters = AdaptersOf(model.graph); !adapters.empty()) {
    position.recipe["adapters"] = fmt::format("modules={} factor={}", adapters.size(), adapters[0].factor);
  }
  if (spec.model().has_class_weights()) position.recipe["class_weights"] = spec.model().class_weights();
  AddRecipe(model, Ops().optimizers(), position);
  return {data.preprocessing, std::move(position), data.scales};
}

absl::Status GoOn(const Beginning& beginning, int64_t steps, TrainingPosition& position) {
  const TrainingPosition* const saved = beginning.position();
  if (saved == nullptr) return absl::OkStatus();
  const std::string& path = beginning.path;
  if (const absl::Status same = CheckSameRun(path, *saved, position.run); !same.ok()) {
    return InvalidArgument("{}; {}", std::string(same.message()),
                           beginning.restarts ? "--checkpoint=ANOTHER without --resume begins anew"
                                              : "--load-weights-only begins anew with its weights");
  }
  if (saved->step >= steps + (beginning.restarts ? 1 : 0)) {
    return FlagError(
        "{}: its training has come to step {}, and --epochs and --steps, which count from the beginning, end this run "
        "at step {}",
        path, saved->step, steps);
  }
  position.step = saved->step;
  position.best = saved->best;
  position.stagnation = saved->stagnation;
  position.plateau = saved->plateau;
  return absl::OkStatus();
}

std::vector<std::string> ChangesOf(const TrainingPosition& saved, const TrainingPosition& now) {
  std::vector<std::string> changes;
  for (const auto& [name, text] : now.recipe) {
    const auto before = saved.recipe.find(name);
    if (before == saved.recipe.end() || before->second == text) continue;
    changes.push_back(fmt::format("{} was {}, and is {} from step {} on", name,
                                  Printable(OtherWords(before->second, text)),
                                  Printable(OtherWords(text, before->second)), saved.step));
  }
  return changes;
}

}  // namespace partita
