// How entry points of several sizes of one graph are called: "train/short" is what "train" is, in the size "short".
#ifndef PARTITA_GRAPH_IR_ENTRY_NAME_H_
#define PARTITA_GRAPH_IR_ENTRY_NAME_H_

#include <string>
#include <string_view>

namespace partita {

// `use`: kTrainEntry, kEvaluateEntry or kPredictEntry; `size`: of the model's entries, or empty for the graph's own.
inline std::string EntryName(std::string_view use, std::string_view size) {
  return size.empty() ? std::string(use) : std::string(use) + "/" + std::string(size);
}

// Whether an entry point is that use of the graph, in whatever size.
inline bool IsUse(std::string_view entry, std::string_view use) { return entry.substr(0, entry.find('/')) == use; }

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_ENTRY_NAME_H_
