// The order of a maximum over a window: the first of equal values wins, a NaN wins and stays.
#ifndef PARTITA_OPS_FUNCTORS_MAXIMUM_H_
#define PARTITA_OPS_FUNCTORS_MAXIMUM_H_

#include "runtime/base/philox.h"

namespace partita {

// True if `value`, met after `best`, takes its place.
template <typename T>
PARTITA_HOST_DEVICE inline bool Exceeds(T value, T best) {
  return value > best || value != value;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_MAXIMUM_H_
