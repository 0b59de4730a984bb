#include "tools/benchmarks/models/model_sizes.h"

#include <string_view>

#include "tools/program/exit_code.h"

namespace partita {

absl::Status SetSizes(const Flags& flags, MeasuredModel& model) {
  if (flags.Given("batch")) model.batch = flags.Int("batch");
  for (const char* name : {"image-size", "vocabulary", "hidden", "layers"}) {
    if (!flags.IsSet(name)) continue;
    const bool of_images = std::string_view(name) == "image-size";
    if (of_images != model.of_words()) continue;
    return FlagError("flag --{} is for models of {}; --model is {}", name, of_images ? "images" : "words", model.name);
  }
  if (flags.IsSet("image-size")) model.image_size = flags.Int("image-size");
  model.vocabulary = flags.Int("vocabulary");
  model.hidden = flags.Int("hidden");
  model.layers = flags.Int("layers");
  return absl::OkStatus();
}

}  // namespace partita
