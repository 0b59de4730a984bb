// What is refused of losses, of what they are made of, and of updates.
#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/refusals/refusals.h"

namespace partita {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Refusal, Classification) {
  const TensorType logits = F32({4, 6});
  ExpectRefused({
      {"softmax_cross_entropy",
       {},
       {logits, F32({4}), std::nullopt},
       "input labels has element type f32; i32 is needed"},
      {"softmax_cross_entropy", {}, {logits, I32({5}), std::nullopt}, "input labels has shape [5]; [4] is needed"},
      {"softmax_cross_entropy", {}, {logits, I32({4}), F32({1})}, "input sample_weight has shape [1]; [4] is needed"},
      {"softmax_cross_entropy", {}, {F32({4}), I32({4}), std::nullopt}, "[n,classes] or [n,t,classes] is needed"},
      {"softmax_cross_entropy",
       {{"label_smoothing", 1.0}},
       {logits, I32({4}), std::nullopt},
       "attribute label_smoothing is 1"},
      {"softmax_cross_entropy_grad",
       {},
       {logits, I32({4}), std::nullopt, F32({1})},
       "input dloss has shape [1]; [] is needed"},
      {"softmax_cross_entropy",
       {},
       {F32({4, 3, 6}), I32({4, 3}), F32({4, 2})},
       "input sample_weight has shape [4,2]; [4,3] is needed (one for each row of logits)"},
      {"softmax_cross_entropy",
       {},
       {logits, I32({4}), F32({4, 1})},
       "input sample_weight has shape [4,1]; [4] is needed"},
      {"accuracy", {{"reduction", "max"}}, {logits, I32({4}), std::nullopt}, "attribute reduction"},
      {"accuracy", {}, {logits, I32({4, 1}), std::nullopt}, "input labels has shape [4,1]"},
      {"accuracy",
       {{"top", int64_t{0}}},
       {logits, I32({4}), std::nullopt},
       "attribute top is 0; it must be at least 1"},
      {"accuracy", {{"top", int64_t{7}}}, {logits, I32({4}), std::nullopt}, "top is 7; logits tell 6 classes apart"},
      {"softmax_cross_entropy", {}, {F32({4, 3, 6}), I32({4}), std::nullopt}, "input labels has shape [4]; [4,3]"},
      {"softmax", {}, {F32({4})}, "[n,c], [n,t,c] or [n,h,w,c] is needed"},
      {"softmax", {}, {F32({4, 2, 3, 1, 6})}, "[n,c], [n,t,c] or [n,h,w,c] is needed"},
      {"softmax_grad", {}, {logits, F32({6, 4})}, "input dy has shape [6,4]; [4,6] is needed (the same as y)"},
      {"log_softmax", {}, {I32({4, 6})}, "input x has element type i32"},
      {"row_maximum", {}, {F32({4})}, "[n,c], [n,t,c] or [n,h,w,c] is needed"},
      {"row_exponentials", {}, {logits, F32({6})}, "input maximum has shape [6]; [4] is needed"},
      {"cross_entropy",
       {},
       {logits, I32({4}), std::nullopt, F32({4}), F32({4, 1})},
       "input sum has shape [4,1]; [4] is needed"},
      {"cross_entropy_sum_grad",
       {},
       {F32({4}), I32({4}), F32({5}), F32({})},
       "input sample_weight has shape [5]; [4] is needed"},
      {"cross_entropy_sum_grad",
       {},
       {F32({4}), I32({5}), std::nullopt, F32({})},
       "input labels has shape [5]; [4] is needed (one for each row)"},
      {"accuracy",
       {{"ignore_index", int64_t{1} << 31}},
       {logits, I32({4}), std::nullopt},
       "attribute ignore_index is 2147483648; -2147483648 to 2147483647 are allowed"},
      {"softmax_cross_entropy",
       {{"ignore_index", std::string("none")}},
       {logits, I32({4}), std::nullopt},
       "attribute 'ignore_index' of op 'softmax_cross_entropy' is an integer; found a word (none)"},
      {"count_labels",
       {{"ignore_index", int64_t{0}}, {"dtype", std::string("f32")}},
       {I32({4, 3}), F32({4, 3})},
       "input sample_weight has shape [4,3]; [4] is needed (one for each sample of labels)"},
  });
}

TEST(Refusal, Updates) {
  const TensorType w = F32({3, 5}), scalar = F32({}), i = I32({});
  const auto rate = [](const std::string& schedule, const std::string& name, Attribute value) {
    Attributes attributes = {{"schedule", schedule}, {"base", 0.1}};
    attributes.Set(name, std::move(value));
    return attributes;
  };
  ExpectRefused({
      {"learning_rate", rate("cosin", "steps", int64_t{5}), {i}, "did you mean cosine?"},
      {"learning_rate", rate("cosine", "steps", int64_t{0}), {i}, "attribute steps is 0; it must be at least 1"},
      {"learning_rate", rate("one_cycle", "steps", int64_t{-5}), {i}, "attribute steps is -5"},
      {"learning_rate",
       rate("step", "decay_steps", int64_t{0}),
       {i},
       "attribute decay_steps is 0; it must be at least 1"},
      {"learning_rate", rate("constant", "warmup_steps", int64_t{-1}), {i}, "attribute warmup_steps is -1"},
      {"learning_rate", rate("constant", "base", -1.0), {i}, "attribute base is -1; it must be finite and at least 0"},
      {"learning_rate", rate("constant", "base", kNan), {i}, "attribute base is nan"},
      {"learning_rate", rate("constant", "dtype", "i32"), {i}, "a rate is f32 or f64"},
      {"learning_rate", rate("constant", "steps", int64_t{5}), {scalar}, "input iteration has element type f32"},
      {"increment", {}, {I32({1}), i}, "input iteration has shape [1]; [] is needed"},
      {"increment", {}, {i, scalar}, "input apply has element type f32; i32 is needed"},
      {"all_finite", {}, {i, std::nullopt}, "input loss has element type i32"},
      {"all_finite", {}, {F32({1}), std::nullopt}, "input loss has shape [1]; [] is needed"},
      {"all_finite", {}, {scalar, F64({})}, "input sum_of_squares has element type f64; f32 is needed"},
      {"clip_scale", {{"max_norm", 0.0}}, {scalar}, "attribute max_norm is 0"},
      {"sgd", {}, {w, F32({5, 3}), scalar, i, std::nullopt}, "input g has shape [5,3]; [3,5] is needed"},
      {"sgd", {}, {w, w, F32({1}), i, std::nullopt}, "input rate has shape [1]"},
      {"sgd", {{"weight_decay", -1.0}}, {w, w, scalar, i, std::nullopt}, "attribute weight_decay is -1"},
      {"sgd_momentum", {{"momentum", 1.0}}, {w, w, w, scalar, i, scalar}, "attribute momentum is 1"},
      {"sgd", {}, {w, w, scalar, I32({1}), std::nullopt}, "input apply has shape [1]; [] is needed"},
      {"lamb", {}, {w, w, scalar, i, std::nullopt, w, scalar}, "input w_squares has shape [3,5]"},
      {"lamb", {}, {w, w, scalar, i, std::nullopt, scalar, F64({})}, "input g_squares has element type f64"},
      {"lamb",
       {{"weight_norm_limit", -1.0}},
       {w, w, scalar, i, std::nullopt, scalar, scalar},
       "attribute weight_norm_limit is -1"},
  });
  Attributes cycle = rate("one_cycle", "steps", int64_t{5});
  cycle.Set("warmup_steps", int64_t{1});
  ExpectRefused({{"learning_rate", cycle, {i}, "one_cycle has a warm-up of its own"}});
  Attributes polynomial = rate("polynomial", "power", 0.0);
  polynomial.Set("steps", int64_t{5});
  ExpectRefused({{"learning_rate", polynomial, {i}, "attribute power is 0"}});
  ExpectRefused({{"learning_rate", rate("linear", "base", 0.1), {i}, "attribute steps is 0; it must be at least 1"}});
  Attributes halving = rate("halving", "decay_steps", int64_t{5});
  ExpectRefused({{"learning_rate", halving, {i}, "attribute decay_times is 0; it must be at least 1"}});
  halving.Set("decay_times", int64_t{4});
  halving.Set("warmup_steps", int64_t{7});
  ExpectRefused({{"learning_rate", halving, {i}, "attribute decay_start is 0; it must be at least 7"}});
  halving.Set("warmup", std::string("linar"));
  ExpectRefused({{"learning_rate", halving, {i}, "did you mean linear?"}});
}

}  // namespace
}  // namespace partita
