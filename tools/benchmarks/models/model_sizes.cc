#include "tools/benchmarks/models/model_sizes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tools/program/exit_code.h"

namespace partita {

absl::Status SetSizes(const BenchmarkSpec& spec, MeasuredModel& model) {
  if (spec.has_batch()) model.batch = spec.batch();
  if (spec.has_image_size() && model.of_words()) {
    return FlagError("flag --image-size is for models of images; --model is {}", model.name);
  }
  if (!model.of_words() && (spec.has_vocabulary() || spec.has_hidden() || spec.has_layers())) {
    const char* const flag = spec.has_vocabulary() ? "vocabulary" : spec.has_hidden() ? "hidden" : "layers";
    return FlagError("flag --{} is for models of words; --model is {}", flag, model.name);
  }
  constexpr std::array kOfAnyLength = {"big-lstm", "gpt2", "bert-base"};
  if (spec.has_length() && std::ranges::count(kOfAnyLength, model.name) == 0) {
    return FlagError("flag --length is for {}; --model is {}", fmt::join(kOfAnyLength, ", "), model.name);
  }
  if (spec.has_image_size()) model.image_size = spec.image_size();
  model.vocabulary = spec.vocabulary();
  model.hidden = spec.hidden();
  model.layers = spec.layers();
  model.length = spec.length();
  return absl::OkStatus();
}

MachineSpec MachineFor(const BenchmarkSpec& spec) {
  MachineSpec machine;
  if (spec.has_cluster()) machine.set_cluster(spec.cluster());
  if (spec.has_profile()) machine.set_profile(spec.profile());
  return machine;
}

}  // namespace partita
