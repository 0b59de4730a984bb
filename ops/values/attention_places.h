// Names the inputs and outputs of attention nodes by position (ops/definitions/sequences/attention.cc,
// dot_product_attention.cc).
#ifndef PARTITA_OPS_VALUES_ATTENTION_PLACES_H_
#define PARTITA_OPS_VALUES_ATTENTION_PLACES_H_

#include <cstddef>

namespace partita {

// attention_context(query, keys, values, v, gain, bias, lengths?) -> context, probabilities
struct AttentionContext {
  enum Input : size_t { kQuery, kKeys, kValues, kV, kGain, kBias, kLengths };
  enum Output : size_t { kContext, kProbabilities };
};

// attention_context_grad(dcontext, probabilities, query, keys, values, v, gain, bias)
// -> dquery, dkeys, dvalues, dv, dgain, dbias
struct AttentionContextGrad {
  enum Input : size_t { kDcontext, kProbabilities, kQuery, kKeys, kValues, kV, kGain, kBias };
  enum Output : size_t { kDquery, kDkeys, kDvalues, kDv, kDgain, kDbias };
};

// scaled_dot_product_attention_forward(query, keys, values, lengths?, bias?, iteration?) -> output, lse
struct DotProductForward {
  enum Input : size_t { kQuery, kKeys, kValues, kLengths, kBias, kIteration };
  enum Output : size_t { kOutput, kLse };
};

// scaled_dot_product_attention_grad(doutput, output, lse, query, keys, values, lengths?, bias?, iteration?)
// -> dquery, dkeys, dvalues
// scaled_dot_product_attention_bias_grad(the same) -> dbias
struct DotProductGrad {
  enum Input : size_t { kDoutput, kOutput, kLse, kQuery, kKeys, kValues, kLengths, kBias, kIteration };
  enum Output : size_t { kDquery, kDkeys, kDvalues };
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_ATTENTION_PLACES_H_
