// The factor by which kernels take longer in whole steps than their single times suggest.
//
// Where more ranks compute than there are cores, most kernels are over within their rank's slice of time and are as
// quick as ever; what passes until the rank's next slice lies between two launches, or in a collective that waits for
// ranks that are late. So do starts, and waits for others. Only the whole step shows it:
//
//   rank 0 (core 0)  AABB....CCDD....=    A to D as quick as alone, the step of 8 takes 16: stretched twofold
//   rank 2 (core 0)  ....AABB....CCDD=
#ifndef PARTITA_PARTITIONER_PROFILE_STRETCH_H_
#define PARTITA_PARTITIONER_PROFILE_STRETCH_H_

namespace partita {

// The factor by which kernels must be stretched so that the predicted step takes the measured time. `predicted`: the
// step's seconds by the medians of its kernels; `compute`: its computing seconds (more than 0, CHECKed). Never below 1:
// if the step was faster, something else was predicted too high.
double StretchOf(double measured, double predicted, double compute);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_STRETCH_H_
