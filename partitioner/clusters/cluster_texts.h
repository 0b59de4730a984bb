// The texts of this folder's clusters, as they were when the program was built.
#ifndef PARTITA_PARTITIONER_CLUSTERS_CLUSTER_TEXTS_H_
#define PARTITA_PARTITIONER_CLUSTERS_CLUSTER_TEXTS_H_

#include <map>
#include <string>

namespace partita {

// By the name of the file without its ending: "dgx1_v100".
const std::map<std::string, std::string>& ClusterTexts();

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTERS_CLUSTER_TEXTS_H_
