// What a training step does beside its gradients.
#include <map>
#include <string>

#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"
#include "ops/values/learning_rate.h"
#include "tests/ops/case_list.h"
#include "tests/ops/update_rules.h"

namespace partita {

void AddUpdates(Cases& cases) {
  const Shape w = {5, 3, 3, 2};
  for (const bool clip : {false, true}) {
    const std::optional<CaseInput> scale = clip ? std::optional(Fixed({}, 0.2, 1)) : std::nullopt;
    const std::string suffix = clip ? "_clipped" : "";
    for (const double decay : {0.0, 0.01}) {
      const std::string variant = (decay > 0 ? "decay" : "plain") + suffix;
      cases.Add("sgd", variant, {{"weight_decay", decay}}, {Fixed(w), Fixed(w), Fixed({}, 0, 1), Applied(), scale});
      for (const bool nesterov : {false, true}) {
        cases.Add("sgd_momentum", variant + (nesterov ? "_nesterov" : ""),
                  {{"momentum", 0.9}, {"weight_decay", decay}, {"nesterov", nesterov}},
                  {Fixed(w), Fixed(w), Fixed(w), Fixed({}, 0, 1), Applied(), scale});
      }
    }
  }
  std::map<std::string, int> variants;  // of each op so far
  for (const UpdatePhase& rule : UpdatePhases()) {
    std::vector<std::optional<CaseInput>> inputs;
    for (const InputDefinition& input : Ops().Find(rule.op)->inputs) {
      const bool tensor = !IsScalarOfUpdate(input.name);
      if (input.name == "apply") {
        inputs.push_back(Applied());
      } else if (input.name == "clip") {
        inputs.push_back(std::nullopt);
      } else if (input.name == "iteration") {
        inputs.push_back(Integers({}, 60));
      } else if (input.name == "w" || input.name == "g") {
        inputs.push_back(Fixed(w));
      } else if (input.name == "mean") {  // its square is less than the mean square, from which it may be subtracted
        inputs.push_back(Fixed(w, 0, 0.2));
      } else {
        inputs.push_back(Fixed(tensor ? w : Shape{}, 0.1, 1));
      }
    }
    cases.Add(rule.op, "optimizer_" + std::to_string(++variants[rule.op]), rule.attributes, inputs);
  }
  for (const std::string& schedule : ScheduleNames()) {
    cases.Add("learning_rate", schedule,
              {{"dtype", "f64"},
               {"schedule", schedule},
               {"base", 0.1},
               {"steps", int64_t{50}},
               {"decay_steps", int64_t{7}},
               {"decay_start", int64_t{20}},
               {"decay_times", int64_t{2}}},
              {Integers({}, 60)});
  }
  cases.Add("increment", "step", {}, {Integers({}, 1000), Applied()});
  cases.Add("all_finite", "loss", {}, {Fixed({}), std::nullopt});
  cases.Add("all_finite", "norm", {}, {Fixed({}), Fixed({}, 1, 2)});
  cases.Add("sum_of_squares", "image", {}, {Fixed(w)});
  cases.Add("sum_of_squares", "vector", {}, {Fixed({7})});
  cases.Add("clip_scale", "above", {{"max_norm", 0.5}}, {Fixed({}, 1, 2)});
  cases.Add("clip_scale", "below", {{"max_norm", 5.0}}, {Fixed({}, 1, 2)});
  cases.Add("accuracy", "plain", {}, {Fixed({7, 5}), Integers({7}, 5), std::nullopt});
  cases.Add("accuracy", "weighted", {}, {Fixed({7, 5}), Integers({7}, 5), Fixed({7}, 0, 1)});
  cases.Add("constant", "float", {{"dtype", "f64"}, {"shape", Ints{3, 5}}, {"value", 2.5}}, {});
}

}  // namespace partita
