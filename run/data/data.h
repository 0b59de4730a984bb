// The data set that a command's flags speak of, as batches for a graph.
#ifndef PARTITA_RUN_DATA_DATA_H_
#define PARTITA_RUN_DATA_DATA_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "runtime/data/augmentation.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

enum class Need : uint8_t { kNo, kIfThere, kYes };

struct DataRequest {
  Need training = Need::kYes, test = Need::kIfThere;
  Augmentation augmentation = {};                           // of training images alone
  double least_area = 0, colour = 0;                        // of training pictures alone: as ViewOptions has them
  std::optional<Preprocessing> preprocessing = {};          // as a model knows it; none: training images are measured
  ByteScales scales = {};                                   // as a model knows them: of arrays of bytes
  std::function<bool(const std::string&)> reads = nullptr;  // whether an input needs its field; null: all do
  bool empty_lines = false;                                 // allowed in sources of parallel texts
  bool counts_labels = false;                               // of the training set: TrainingData::label_counts
  std::vector<const Graph*> sizes = {};                     // the graph in other sizes, which batches may have as well
};

// The sizes of a model beside that of its graph.
std::vector<const Graph*> SizesOf(const Model& model);

// The sets of --data (Fashion-MNIST by default), or random ones with --mock-data, for a user's graph; a set that is not
// needed is null, and so is one that is not there. kInvalidArgument: a set that is needed is not there, data that does
// not fit the graph.
absl::StatusOr<TrainingData> ReadData(const RunSpec& spec, const Graph& graph, const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_DATA_H_
