// Initial values of parameters and states.
//
// An element's value depends on (seed, name of the state, its index in the global tensor) and on nothing else, so it is
// equal under every split. Attributes `initializer`, `scale` and `values`:
//   constant        scale
//   values          the numbers of attribute `values`, in the order of the elements: "0,1.5x3,-2" are 0, three times
//                   1.5 and -2
//   uniform         in [-scale, scale)
//   normal          scale * normal
//   he_normal       scale * normal, variance 2 / fan_in        (He et al. 2015, section 2.2)
//   he_uniform      scale * uniform, the same variance: bound sqrt(6 / fan_in)
//   glorot_normal   scale * normal, variance 2 / (fan_in + fan_out)   (Glorot and Bengio 2010, equation 16)
//   glorot_uniform  scale * uniform, the same variance: bound sqrt(6 / (fan_in + fan_out))
// Fans: of rank 2 [in, out] its sizes; of rank 4 [out, h, w, in] h*w*in and out*h*w. Others have no fans.
#ifndef PARTITA_OPS_VALUES_INITIALIZER_H_
#define PARTITA_OPS_VALUES_INITIALIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/attributes.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace partita {

std::vector<std::string> InitializerNames();

// Refuses an unknown initializer (did you mean), one that does not suit the type, and a scale out of range.
absl::Status CheckInitializer(const Attributes& attributes, DType dtype, const Shape& shape);

// Refuses a number that `dtype` cannot hold: not finite, or for integers not whole or out of range. `attribute` is
// named.
absl::Status CheckConstant(const std::string& attribute, double value, DType dtype);

// Fills `data`, the elements of `box` (dense, row-major) of a state of shape `global`. Values are computed in f64;
// those of f32 are the rounded ones of f64. An empty box writes nothing. Errors: those of CheckInitializer.
absl::Status Initialize(const Attributes& attributes, DType dtype, const Shape& global, const Box& box, uint64_t seed,
                        const std::string& name, void* data);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_INITIALIZER_H_
