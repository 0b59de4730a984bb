// What ops of sequences and of tables that are read by ids refuse, and with which words.
#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/refusals/refusals.h"

namespace partita {
namespace {

using Ints = IntList;
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Refusal, Rows) {
  const TensorType table = F32({9, 4}), ids = I32({6});
  const Attributes rows = {{"rows", int64_t{9}}};
  ExpectRefused({
      {"embedding", {}, {I32({9, 4}), ids}, "input table has element type i32"},
      {"embedding", {}, {F32({9}), ids}, "input table has shape [9]; [rows,channels] is needed"},
      {"embedding", {}, {table, F32({6})}, "input ids has element type f32; i32 is needed"},
      {"embedding", {}, {table, I32({6, 2, 2})}, "input ids has shape [6,2,2]; [n] or [n,t] is needed"},
      {"embedding",
       {{"padding_row", int64_t{9}}},
       {table, ids},
       "attribute padding_row is 9; it must be a row of the table, 0 to 8, or -1"},
      {"embedding", {{"padding_row", int64_t{-2}}}, {table, ids}, "attribute padding_row is -2"},
      {"embedding_grad", rows, {std::nullopt, I32({5}), F32({6, 4})}, "input ids has shape [5]; [6] is needed"},
      {"merge_rows", {{"padding_rows", Ints{-1}}}, {ids, F32({5, 4})}, "input ids has shape [6]; [5] is needed"},
      {"merge_rows", {{"padding_rows", Ints{-1}}}, {ids, F32({6, 4}), ids}, "3 inputs are no pairs of ids and rows"},
      {"merge_rows",
       {{"padding_rows", Ints{-1, -1}}},
       {ids, F32({6, 4}), ids, F32({6, 3})},
       "rows of pair 1 are f32[6,3]; 4 numbers of f32 are needed"},
      {"sgd_rows",
       {},
       {table, ids, F32({5, 4}), F32({}), I32({}), std::nullopt},
       "input rows has shape [5,4]; [6,4] is needed (a row of w for each id)"},
      {"sampled_softmax_cross_entropy",
       {{"samples", int64_t{5}}},
       {F32({6, 4}), table, F32({9}), ids, std::nullopt},
       "attribute samples is 5; it must be at least 1 and at most half of the 9 classes"},
      {"sampled_softmax_cross_entropy",
       {{"samples", int64_t{2}}},
       {F32({6, 3}), table, F32({9}), ids, std::nullopt},
       "input weights has shape [9,4]; [9,3] is needed"},
      {"sampled_softmax_cross_entropy",
       {{"samples", int64_t{2}}},
       {F32({6, 4}), table, F32({8}), ids, std::nullopt},
       "input bias has shape [8]; [9] is needed (one for each class)"},
      {"embedding_grad",
       {{"rows", int64_t{0}}},
       {std::nullopt, ids, F32({6, 4})},
       "attribute rows is 0; it must be at least 1"},
  });
}

TEST(Refusal, Lstm) {
  const TensorType g = F32({6, 2, 12}), w = F32({3, 12}), h = F32({6, 2, 3});
  const std::optional<TensorType> no;
  ExpectRefused({
      {"lstm", {}, {F32({6, 12}), w, no, no, no, no}, "input g has shape [6,12]; [n,t,4 units] is needed"},
      {"lstm", {}, {F32({6, 2, 10}), w, no, no, no, no}, "[n,t,4 units] is needed: four gates for each unit"},
      {"lstm", {}, {g, F32({5, 12}), no, no, no, no}, "input w_h has shape [5,12]; [3,12] is needed"},
      {"lstm", {}, {g, F32({5, 12}), F32({5, 3}), no, no, no}, "input w_projection has shape [5,3]; [3,5] is needed"},
      {"lstm", {}, {g, w, no, F32({6, 4}), no, no}, "input h0 has shape [6,4]; [6,3] is needed"},
      {"lstm", {}, {g, w, no, no, F64({6, 3}), no}, "input c0 has element type f64; f32 is needed"},
      {"lstm", {}, {g, w, no, no, no, F32({6})}, "input lengths has element type f32; i32 is needed"},
      {"lstm", {}, {g, w, no, no, no, I32({2})}, "input lengths has shape [2]; [6] is needed (one for each sequence"},
      {"lstm", {{"forget_bias", kNan}}, {g, w, no, no, no, no}, "attribute forget_bias is nan; it must be finite"},
      {"lstm_steps_grad", {}, {F32({6, 2, 5}), g, h, F32({6, 2, 5}), F32({5, 12}), no, no, no}, "there are 3 outputs"},
  });
}

TEST(Refusal, Attention) {
  const TensorType query = F32({6, 2, 4}), keys = F32({6, 5, 4}), values = F32({6, 5, 3}), v = F32({4});
  const TensorType gain = F32({1}), wide = F64({6, 5, 3});
  const std::optional<TensorType> no;
  ExpectRefused({
      {"attention", {}, {v, keys, values, v, gain, v, no}, "input query has shape [4]; [n,q,h] is needed"},
      {"attention", {}, {query, F32({6, 5, 3}), values, v, gain, v, no}, "input keys has shape [6,5,3]; [6,5,4] is"},
      {"attention", {}, {query, keys, F32({6, 4, 3}), v, gain, v, no}, "input values has shape [6,4,3]; [6,5,3] is"},
      {"attention", {}, {query, keys, wide, v, gain, v, no}, "input values has element type f64; f32 is needed"},
      {"attention",
       {},
       {query, keys, values, gain, gain, v, no},
       "input v has shape [1]; [4] is needed (one number for"},
      {"attention", {}, {query, keys, values, v, v, v, no}, "input gain has shape [4]; [1] is needed (one number)"},
      {"attention", {}, {query, keys, values, v, gain, gain, no}, "input bias has shape [1]; [4] is needed"},
      {"attention", {}, {query, keys, values, v, gain, v, F32({6})}, "input lengths has element type f32; i32 is"},
      {"attention", {}, {query, keys, values, v, gain, v, I32({5})}, "input lengths has shape [5]; [6] is needed (one"},
      {"attention_context_grad",
       {},
       {F32({6, 2, 4}), F32({6, 2, 5}), query, keys, values, v, gain, v},
       "input dcontext has shape [6,2,4]; [6,2,3] is needed"},
      {"attention_context_grad",
       {},
       {F32({6, 2, 3}), F32({6, 5, 2}), query, keys, values, v, gain, v},
       "input probabilities has shape [6,5,2]; [6,2,5] is needed"},
  });
}

TEST(Refusal, DotProductAttention) {
  const TensorType query = F32({6, 2, 4, 3}), keys = F32({6, 5, 2, 3}), values = F32({6, 5, 2, 7});
  const TensorType output = F32({6, 2, 4, 7}), lse = F32({6, 4, 2});
  const Attributes causal = {{"causal", true}};
  const std::optional<TensorType> no;
  const std::string op = "scaled_dot_product_attention";
  ExpectRefused({
      {op, {}, {I32({6, 2, 4, 3}), keys, values, no, no, no}, "input query has element type i32; f32 or f64 is needed"},
      {op, {}, {F32({6, 2, 4}), keys, values, no, no, no}, "input query has shape [6,2,4]; [n,q,heads,d] is needed"},
      {op, {}, {query, F32({6, 5, 2}), values, no, no, no}, "input keys has shape [6,5,2]; [n,k,groups,d] is needed"},
      {op, {}, {query, F32({6, 5, 2, 4}), values, no, no, no}, "input keys has shape [6,5,2,4]; [6,5,2,3] is needed"},
      {op, {}, {query, F32({5, 5, 2, 3}), values, no, no, no}, "input keys has shape [5,5,2,3]; [6,5,2,3] is needed"},
      {op, {}, {query, keys, F32({6, 5, 7}), no, no, no}, "input values has shape [6,5,7]; [n,k,groups,c] is needed"},
      {op, {}, {query, keys, F32({6, 4, 2, 7}), no, no, no}, "input values has shape [6,4,2,7]; [6,5,2,7] is needed"},
      {op, {}, {query, keys, F32({6, 5, 4, 7}), no, no, no}, "input values has shape [6,5,4,7]; [6,5,2,7] is needed"},
      {op, {}, {query, keys, F64({6, 5, 2, 7}), no, no, no}, "input values has element type f64; f32 is needed"},
      {op,
       {},
       {query, F32({6, 5, 3, 3}), F32({6, 5, 3, 7}), no, no, no},
       "input keys has 3 groups; a number that divides the 4 heads of the query is needed"},
      {op,
       {},
       {query, F32({6, 5, 8, 3}), F32({6, 5, 8, 7}), no, no, no},
       "input keys has 8 groups; a number that divides the 4 heads of the query is needed"},
      {op,
       causal,
       {F32({6, 7, 4, 3}), keys, values, no, no, no},
       "input query has 7 positions; at most 5 are needed where causal is true, as of the keys"},
      {op, {{"scale", kNan}}, {query, keys, values, no, no, no}, "attribute scale is nan; it must be finite"},
      {op, {}, {query, keys, values, F32({6}), no, no}, "input lengths has element type f32; i32 is needed"},
      {op,
       {},
       {query, keys, values, I32({5}), no, no},
       "input lengths has shape [5]; [6] is needed (one for each sample)"},
      {op + "_grad",
       {},
       {F32({6, 2, 4, 3}), output, lse, query, keys, values, no, no, no},
       "input doutput has shape [6,2,4,3]; [6,2,4,7] is needed"},
      {op + "_grad",
       {},
       {output, F32({6, 2, 2, 7}), lse, query, keys, values, no, no, no},
       "input output has shape [6,2,2,7]; [6,2,4,7] is needed"},
      {op + "_grad",
       {},
       {output, output, F32({6, 2, 4}), query, keys, values, no, no, no},
       "input lse has shape [6,2,4]; [6,4,2] is needed"},
      {op,
       {},
       {query, keys, values, no, F32({6, 4, 2, 4}), no},
       "input bias has shape [6,4,2,4]; one that broadcasts to [6,4,2,5] is needed ([n,heads,q,k])"},
      {op,
       {},
       {query, keys, values, no, F32({2, 4, 5}), no},
       "input bias has shape [2,4,5]; one that broadcasts to [6,4,2,5]"},
      {op,
       {},
       {query, keys, values, no, F32({1, 6, 4, 2, 5}), no},
       "input bias has shape [1,6,4,2,5]; one that broadcasts to [6,4,2,5]"},
      {op, {}, {query, keys, values, no, F64({2, 5}), no}, "input bias has element type f64; f32 is needed"},
      {op, {{"dropout_rate", 1.0}}, {query, keys, values, no, no, no}, "attribute dropout_rate is 1"},
      {op, {}, {query, keys, values, no, no, F32({})}, "input iteration has element type f32; i32 is needed"},
      {op + "_bias_grad", {}, {output, output, lse, query, keys, values, no, no, no}, "input bias is missing"},
  });
}

}  // namespace
}  // namespace partita
