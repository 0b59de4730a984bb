// The error of the roofline for the kernels of an op, from measured ones; other kernels of the op are assumed to have
// the same error.
//
// The roofline takes a device's best, which few kernels reach: a normalization reads its input twice, a product of few
// rows fills no registers. A search that takes unmeasured kernels for as quick as that prefers them to measured ones.
#ifndef PARTITA_PARTITIONER_PROFILE_OP_TIMES_H_
#define PARTITA_PARTITIONER_PROFILE_OP_TIMES_H_

#include <map>
#include <string>
#include <vector>

namespace partita {

// Thread-compatible.
class OpTimes {
 public:
  // A kernel of `op`, both in seconds, greater than 0.
  void Add(const std::string& op, double measured, double roofline);

  // By op, the median of measured / roofline: of kernels of all sizes, as those are that were not measured.
  std::map<std::string, double> Times() const;

 private:
  std::map<std::string, std::vector<double>> ratios_;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_OP_TIMES_H_
