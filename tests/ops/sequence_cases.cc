// The steps of an LSTM, of which a cotangent arrives at h alone, and both kinds of attention, of which one arrives at
// the context or the output.
#include "tests/ops/case_list.h"
#include "tests/ops/op_cases.h"

namespace partita {

void AddLstm(Cases& cases) {
  const std::vector<size_t> kept = {1, 2, 3, 4};
  const CaseInput g = Free({3, 4, 8}), w = Free({2, 8}), h0 = Free({3, 2}), c0 = Free({3, 2});
  const Attributes reverse = {{"reverse", true}};
  cases.Add("lstm_steps", "plain", {}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt}, kept);
  cases.Add("lstm_steps", "begun", {{"forget_bias", 1.0}}, {g, w, std::nullopt, h0, c0, std::nullopt}, kept);
  cases.Add("lstm_steps", "reverse", reverse, {g, w, std::nullopt, std::nullopt, c0, std::nullopt}, kept);
  cases.Add("lstm_steps", "lengths", {}, {g, w, std::nullopt, h0, c0, Integers({3}, 5)}, kept);
  const CaseInput wide = Free({4, 3, 8}), to_three = Free({3, 8}), projection = Free({2, 3});
  cases.Add("lstm_steps", "projected", {}, {wide, to_three, projection, Free({4, 3}), std::nullopt, std::nullopt},
            kept);
  cases.Add("lstm_steps", "everything", {{"reverse", true}, {"forget_bias", -0.5}},
            {wide, to_three, projection, Free({4, 3}), Free({4, 2}), Integers({4}, 4)}, kept);
}

void AddLstmGradients(Cases& cases) {
  const CaseInput dh = Fixed({3, 4, 2}), gates = Fixed({3, 4, 8}, 0.1, 0.9), c = Fixed({3, 4, 2}), w = Fixed({2, 8});
  cases.Add("lstm_steps_grad", "plain", {}, {dh, gates, c, dh, w, std::nullopt, std::nullopt, std::nullopt});
  cases.Add("lstm_steps_grad", "begun", {{"reverse", true}},
            {dh, gates, c, dh, w, Fixed({3, 2}), Fixed({3, 2}), Integers({3}, 5)});
  cases.Add("lstm_projected_steps_grad", "begun", {},
            {dh, gates, c, dh, w, Fixed({3, 2}), Fixed({3, 2}), Integers({3}, 5), Fixed({2, 2})});
}

void AddAttention(Cases& cases) {
  const CaseInput v = Free({4}), gain = Free({1}), bias = Free({4});
  const CaseInput query = Free({3, 2, 4}), keys = Free({3, 5, 4}), values = Free({3, 5, 3});
  cases.Add("attention_context", "plain", {}, {query, keys, values, v, gain, bias, std::nullopt}, {1});
  cases.Add("attention_context", "lengths", {}, {query, keys, values, v, gain, bias, Integers({3}, 6)}, {1});
  cases.Add("attention_context", "one", {},
            {Free({1, 1, 4}), Free({1, 1, 4}), Free({1, 1, 3}), v, gain, bias, std::nullopt}, {1});
}

// Two heads share a group, or one group serves all; at least one key of each sample is seen.
void AddDotProductAttention(Cases& cases) {
  const std::string op = "scaled_dot_product_attention_forward";
  const CaseInput query = Free({3, 4, 4, 3}), keys = Free({3, 5, 2, 3}), values = Free({3, 5, 2, 2});
  const CaseInput of_one = Free({3, 5, 1, 3}), values_of_one = Free({3, 5, 1, 2});
  const CaseInput lengths{{DType::kI32, {3}}, false, Fill::kIntegers, 1, 6}, step = Integers({}, 5);
  const Attributes causal = {{"causal", true}, {"scale", 0.75}};
  const Attributes dropping = {{"dropout_rate", 0.3}, {"key", "dropped"}, {"first_sample", int64_t{5}}};
  const std::optional<CaseInput> no;
  cases.Add(op, "plain", {}, {query, keys, values, no, no, no}, {1});
  cases.Add(op, "causal", causal, {query, keys, values, no, no, no}, {1});
  cases.Add(op, "lengths", {}, {query, keys, values, lengths, no, no}, {1});
  cases.Add(op, "causal_lengths", causal, {query, keys, values, lengths, no, no}, {1});
  cases.Add(op, "one_group", {}, {query, of_one, values_of_one, no, no, no}, {1});
  cases.Add(op, "one", {}, {Free({1, 1, 1, 3}), Free({1, 1, 1, 3}), Free({1, 1, 1, 2}), no, no, no}, {1});
  cases.Add(op, "bias", {}, {query, keys, values, no, Free({3, 4, 4, 5}), no}, {1});
  cases.Add(op, "bias_of_places", causal, {query, keys, values, lengths, Free({4, 4, 5}), no}, {1});
  cases.Add(op, "bias_of_keys", {}, {query, keys, values, lengths, Free({3, 1, 1, 5}), no}, {1});
  cases.Add(op, "bias_of_one_group", {}, {query, of_one, values_of_one, no, Free({1, 4, 1, 5}), no}, {1});
  cases.Add(op, "bias_of_queries", causal, {query, keys, values, no, Free({4, 1}), no}, {1});
  cases.Add(op, "dropout", dropping, {query, keys, values, no, no, step}, {1});
  cases.Add(op, "dropout_bias", dropping, {query, of_one, values_of_one, lengths, Free({4, 4, 5}), no}, {1});
}

void AddDotProductAttentionGradients(Cases& cases) {
  const std::string op = "scaled_dot_product_attention_grad";
  const CaseInput query = Fixed({3, 4, 4, 3}), keys = Fixed({3, 5, 2, 3}), values = Fixed({3, 5, 2, 2});
  const CaseInput output = Fixed({3, 4, 4, 2}), lse = Fixed({3, 4, 4}, 1, 2), lengths = Integers({3}, 6);
  const Attributes causal = {{"causal", true}, {"scale", 0.75}};
  const Attributes dropping = {{"dropout_rate", 0.3}, {"key", "dropped"}};
  const std::optional<CaseInput> no;
  cases.Add(op, "plain", {}, {output, output, lse, query, keys, values, no, no, no});
  cases.Add(op, "causal_lengths", causal, {output, output, lse, query, keys, values, lengths, no, no});
  for (const char* const each : {"scaled_dot_product_attention_grad", "scaled_dot_product_attention_bias_grad"}) {
    const CaseInput every = Fixed({3, 4, 4, 5}), of_places = Fixed({4, 4, 5}), of_keys = Fixed({3, 1, 1, 5});
    cases.Add(each, "bias", {}, {output, output, lse, query, keys, values, no, every, no});
    cases.Add(each, "bias_of_places", causal, {output, output, lse, query, keys, values, lengths, of_places, no});
    cases.Add(each, "bias_of_keys", {}, {output, output, lse, query, keys, values, no, of_keys, no});
    cases.Add(each, "dropout", dropping,
              {output, output, lse, query, keys, values, lengths, of_places, Integers({}, 5)});
  }
}

void AddAttentionGradients(Cases& cases) {
  const CaseInput v = Fixed({4}), gain = Fixed({1}), bias = Fixed({4});
  const CaseInput query = Fixed({3, 2, 4}), keys = Fixed({3, 5, 4}), values = Fixed({3, 5, 3});
  cases.Add("attention_context_grad", "plain", {},
            {Fixed({3, 2, 3}), Fixed({3, 2, 5}, 0, 0.4), query, keys, values, v, gain, bias});
}

}  // namespace partita
