// A schedule: the launches of one rank in one step, with their streams, waits and addresses. Plain data.
//
// Launches are in program order. Streams 0 .. streams-1 belong to the device, the last of them carries all
// communication; stream `host_stream()` is the thread that drives the steps: its first launch of a step writes the
// staged inputs, its last one reads what the step reports, and the next step begins after it. A launch starts after the
// launch before it on its own stream and after every launch in `waits` (earlier launches of other streams). All
// addresses are offsets in bytes into the rank's one arena, 64-byte aligned unless a value is a view.
#ifndef PARTITA_GRAPH_SCHEDULE_SCHEDULE_H_
#define PARTITA_GRAPH_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/program.h"
#include "graph/schedule/byte_columns.h"
#include "graph/value/collective_kind.h"

namespace partita {

struct ByteRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  bool operator==(const ByteRange&) const = default;
};

// A tensor of the schedule: a run of bytes that one launch (rarely several) writes and later ones read, at any address.
// Views of a value and the value are one tensor, a value and the result of an in-place update are two.
using TensorId = int;
inline constexpr TensorId kNoTensor = -1;

struct ScheduledTensor {
  std::string name;
  int64_t bytes = 0;
};

// The content of an address: byte `first` of a tensor. kNoTensor: the operand is absent, or its content is unknown.
struct Content {
  TensorId tensor = kNoTensor;
  int64_t first = 0;
  bool operator==(const Content&) const = default;
};

struct Access {
  ByteRange range;  // from the first to the last byte
  bool write = false;
  ByteColumns columns = {};  // the touched bytes of the range
  // What is read or written, whose byte 0 lies at `origin`. kNoTensor: the launch is ordered as if it touched the
  // bytes.
  TensorId tensor = kNoTensor;
  int64_t origin = 0;
  bool gaps = false;  // a box: leaves bytes of the range untouched in addition to those between columns
  bool operator==(const Access&) const = default;

  int64_t end() const { return range.offset + range.bytes; }
  int64_t bytes() const {
    return columns.all() ? range.bytes : ((range.bytes - columns.bytes) / columns.pitch + 1) * columns.bytes;
  }
};

struct KernelLaunch {
  LocalNode node;
  KernelChoice choice;
  std::vector<int64_t> inputs;   // offset of each input; -1: absent or empty
  std::vector<int64_t> outputs;  // offset of each output; -1: empty
  int64_t workspace = -1;        // offset; -1: none
};

// Copies a box of one dense row-major tensor into a box of another. Sizes in elements.
struct BoxCopy {
  int64_t element_bytes = 4;
  int64_t from = 0, to = 0;    // offsets of the two tensors in the arena
  Shape from_shape, to_shape;  // their (local) shapes
  Shape from_start, to_start;  // the first element of the box in each
  Shape size;
};

// A box of a dense row-major tensor of this shape, whose first element is element `first` of a collective's operand.
struct PlacedBox {
  int64_t first = 0;
  Shape shape;
  Box box = {{0}, {0}};  // nothing
};

struct CopyLaunch {
  ByteRange zero;  // cleared before the copies (bytes == 0: nothing)
  std::vector<BoxCopy> copies;
};

// A part of a bucket: its bytes, from `first` on, hold `summand` before the all_reduce and `sum` after it.
struct BucketMember {
  TensorId summand = kNoTensor;
  TensorId sum = kNoTensor;
  int64_t first = 0;
  int64_t bytes = 0;
};

// Counts are in elements of `dtype`. Every rank of the group takes part, also one that gives and gets nothing.
//   all_reduce      input_count == output_count; in place where the planner could
//   all_gather      send_counts[r]: the block that rank r of the group gives, the same list on all ranks
//   reduce_scatter  send_counts[r]: the block that rank r of the group gets, the same list on all ranks
//   broadcast       output_count on all ranks; input_count 0 but on the root, where output == input and the bytes are
//                   only read
//   reduce          input_count on all ranks; output_count 0 but on the root
//   all_to_all      send_counts[r] to rank r and receive_counts[r] from it, blocks in rank order, one to itself
//                   included; or boxes with this number of elements, straight from their position in the input to that
//                   in the output
struct CollectiveLaunch {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int group = 0;  // id in Program::groups
  DType dtype = DType::kF32;
  Reduction reduction = Reduction::kSum;
  int64_t input = -1, output = -1;  // offsets; -1: this rank sends or receives nothing
  int64_t input_count = 0, output_count = 0;
  std::vector<int64_t> send_counts;     // per rank of the group: all_to_all; reduce_scatter and all_gather: the blocks
  std::vector<int64_t> receive_counts;  // all_to_all only
  // All_to_all of boxes: per rank of the group; empty: the blocks follow each other.
  std::vector<PlacedBox> send_boxes, receive_boxes;
  int root = 0;                            // broadcast, reduce: index in the group
  std::vector<BucketMember> members = {};  // the members of a bucket, which is reduced in place
};

// Whether a collective does not write its output: on the root of a broadcast it is the input.
inline bool OnlyReads(const CollectiveLaunch& collective) {
  return collective.kind == CollectiveKind::kBroadcast && collective.input >= 0 &&
         collective.input == collective.output;
}

// Work of the host thread: it writes the staged inputs, or reads the results.
struct HostLaunch {
  bool begin = true;
};

struct Launch {
  std::string name;
  NodeId node = -1;  // in the entry point's graph; -1: host launches
  Phase phase = Phase::kForward;
  int stream = 0;
  std::vector<int> waits;  // indices of earlier launches on other streams
  std::vector<Access> accesses;
  std::variant<KernelLaunch, CopyLaunch, CollectiveLaunch, HostLaunch> work;
  // The contents of the operands: inputs, outputs and workspace of a kernel; the cleared range, then source and target
  // of each copy; input and output of a collective.
  std::vector<Content> contents = {};
};

// `before` must end before `after` starts, for a reason other than shared bytes: the step boundary, or the order of
// collectives.
struct OrderEdge {
  int before = 0;
  int after = 0;
  bool operator==(const OrderEdge&) const = default;
};

// The position of a value that outlives the launches: a state, a staged input, a reported scalar.
struct Placement {
  std::string name;
  LocalTensor tensor;
  int64_t offset = -1;  // -1: this rank holds nothing of it
  TensorId content = kNoTensor;
};

// After a step the bytes of `state` are those of `update`.
struct CarriedTensor {
  TensorId state = kNoTensor;
  TensorId update = kNoTensor;
  bool operator==(const CarriedTensor&) const = default;
};

// A bf16 copy of a state: code that writes the state from outside must also write this copy.
struct RoundedState {
  int state = 0;  // its index in Schedule::states
  Placement placement;
};

// The position of a value of the graph, for an observer that copies it right after its launch (later another value may
// use its bytes). `launch`: the last one that writes it; -1: it exists before the step (a state), or is not held.
struct ValuePlacement {
  LocalTensor tensor;
  int64_t offset =
      -1;  // -1: this rank holds nothing of it, or as columns or made in columns (graph/lower/view_columns.h)
  int launch = -1;
};

// Bytes of the arena in use from launch `first` to launch `last` (inclusive) by one value, or by several that reuse
// them in place. Outside of it the bytes have no meaning, and a test may poison them.
struct Lifetime {
  std::string name;
  ByteRange range;
  int first = 0;
  int last = 0;
  bool persistent = false;  // a state: outlives the step
  bool scratch = false;     // workspace, which a kernel need not use to its last byte
};

// In bytes. The first five add up to the total (padding counts with the tensor before it).
struct MemoryUse {
  int64_t parameters = 0, states = 0, inputs = 0;
  int64_t activations = 0;  // transient peak without workspace
  int64_t workspace = 0;    // the share of workspace in that peak
  int64_t total = 0;        // bytes of the arena
};

struct Schedule {
  int rank = 0;
  int streams = 1;  // device streams
  std::vector<Launch> launches;
  std::vector<OrderEdge> order;
  std::vector<Placement> states, inputs, results;  // results: of ReadByHost
  std::vector<RoundedState> rounded;               // for the states that this rank holds
  std::vector<ValuePlacement> values;              // by ValueId of the entry point's graph
  std::vector<Lifetime> lifetimes;
  std::vector<ScheduledTensor> tensors;  // by TensorId; empty: the launches do not declare their accesses
  std::vector<CarriedTensor> carried;    // states that are not listed do not change
  MemoryUse memory;

  int host_stream() const { return streams; }
};

// The bytes that a launch touches, from its offsets, and their tensors, from its contents. Empty ranges are skipped. A
// box of a tensor, copied or part of a node's operand, gives the run from its first to its last element; columns of an
// operand give only these columns; a bucket gives each member. Host launches: nothing (their bytes are the
// placements').
std::vector<Access> AccessesOf(const Launch& launch);

// The offset of a value of `entry`, the graph that the schedule was made from; -1 if there is no such value or this
// rank holds nothing of it.
int64_t OffsetOf(const Schedule& schedule, const Graph& entry, const std::string& value_name);

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_SCHEDULE_H_
