// How much longer single kernels are seen to take, the more ranks compute meanwhile.
//
// A kernel that outlasts its rank's slice of time is interrupted, and its span has the others' slices in it; a shorter
// one is over before, and only whole steps tell (stretch.h):
//
//   two ranks on a core   AAAA....AAAA....=    A takes 12 from its begin to its end, alone 8
//                         ....BBBB....BBBB=
#ifndef PARTITA_PARTITIONER_PROFILE_CROWDING_H_
#define PARTITA_PARTITIONER_PROFILE_CROWDING_H_

#include <map>

namespace partita {

// Thread-compatible.
class Crowding {
 public:
  // While so many ranks computed, in the mean over a step, kernels took so many times as long as alone. Fewer than 1,
  // which noise alone can make, count as 1.
  void Add(double computing, double times);

  // At least one was added (CHECKed). Between two of them in line, beyond the first and the last as these.
  double At(double computing) const;

 private:
  std::map<double, double> times_;  // by ranks that compute
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_CROWDING_H_
