// The clusters of this folder, as they were when the program was built.
#ifndef PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_
#define PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_

#include <map>
#include <string>

namespace partita {

// The text of each file by its name without the ending: "dgx1_v100".
const std::map<std::string, std::string>& ShippedClusters();

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_
