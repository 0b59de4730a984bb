// The measurements of one machine, and their prediction for a run (proto/profile.proto).
#ifndef PARTITA_PARTITIONER_PROFILE_PROFILE_H_
#define PARTITA_PARTITIONER_PROFILE_PROFILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "partitioner/cluster/cluster_description.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/profile/alpha_beta_fit.h"

namespace partita {

// Of what a profile is: another device or version computes in other times.
struct ProfileKey {
  std::string device;
  std::map<std::string, std::string> libraries;  // name to version, of those that compute
};

struct KernelTime {
  std::string signature;  // SignatureOf
  int ranks = 1;          // that ran on the machine meanwhile
  double seconds = 0;     // in a step: the median, stretched as steps are (StretchOf)
  double spread = 0;      // Quartiles::spread
};

struct CollectiveTime {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int ranks = 2;
  bool processes = false;
  AlphaBetaFit fit;
  int64_t least_bytes = 0, most_bytes = 0;  // of the sizes that were measured
};

struct Profile {
  ProfileKey key;
  std::string time;
  ClusterDescription machine;
  std::vector<KernelTime> kernels;
  std::vector<CollectiveTime> collectives;
  Slowdown slowdown = {{1, 1}};  // of a rank's kernels in whole steps
};

// kInvalidArgument names the field, with what was found and what is allowed: times that are not greater than 0, other
// numbers below 0, kernels or collectives that are measured twice, no slowdown of one rank, which is 1. The machine is
// checked where a cluster is made of it.
absl::Status CheckProfile(const Profile& profile);

// kInvalidArgument: the profile is of another device or of other versions than those here; with both.
absl::Status CheckKey(const ProfileKey& profile, const ProfileKey& here);

// The kernel times of a run with this number of ranks on that machine. A time measured with another number of ranks is
// scaled by the slowdown of kernels (interpolated linearly between two numbers, proportional beyond the last).
KernelTimes KernelTimesFor(const Profile& profile, int ranks);

// The machine, whose link is that between ranks that are threads; of processes with the one that was measured between
// two of them, if it was. And with what ranks lose that share its cores, if that was measured of several. Errors are
// those of MakeCluster.
absl::StatusOr<Cluster> ClusterOf(const Profile& profile, bool processes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_PROFILE_H_
