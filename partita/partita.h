// Partita as a library: trains a dataflow graph on many ranks, and predicts with it.
//
//   auto model = Model::FromFile("model.pbtxt");
//   auto session = Session::Start(*model, {.data = 2}, {});
//   for (...) session->Train({{"images", images}, {"labels", labels}});
//   session->Save("model.safetensors");
//
// or, from files of data, with a split that a search finds:
//
//   auto session = Session::Start(*model, {.search = "auto", .ranks = 4, .cluster = "two_cores"},
//                                 {.data = "photos", .settings = {{"epochs", "10"}, {"checkpoint", "checkpoints"}}});
//   session->Fit({.on_progress = [](const Progress& progress) { return progress.loss > 0.1; }});
//
// Errors are values: no call throws, exits, aborts or prints for anything that a caller, a file or the machine's limits
// can cause. Messages name the file, the node or field, what was found and what is allowed.
//
// A wrong batch is an error of that call alone: a missing or unknown field, a wrong shape or type, a label or an id
// that is out of range, a NaN. No state changes, and the result of the next call is bitwise identical to one without
// the wrong call. Only two things end a session: Cancel, and a failure of the machine (kDoesNotFit or kInternal from a
// step).
//
// Threads and processes: many threads may read a Model. A Session runs one call at a time; a second call from another
// thread, or from a callback, gets kMisuse at once, except Interrupt and Cancel, which any thread may call. A callback
// of Fit may destroy its session: Fit then ends after the steps in flight, and the ranks with it. Otherwise no thread
// may destroy or move a session while another one is in a call. After fork() the session keeps working in the parent;
// in the child every call returns kMisuse.
//
// This header and values.h include only the standard library.
#ifndef PARTITA_PARTITA_PARTITA_H_
#define PARTITA_PARTITA_PARTITA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "partita/values.h"

namespace partita::api {

// A graph in C++, node by node, with the content of a file (proto/graph.proto); ops/README.md documents ops and their
// attributes.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, Attribute>;

struct Node {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;  // names of nodes, which may follow later in the list; "": an absent optional input
  Attributes attributes;            // missing ones have the op's defaults
};

// Training minimises loss + the sum of weight x value; steps report it as a metric.
struct FurtherLoss {
  std::string value;
  double weight = 1;           // finite, not 0
  bool training_only = false;  // evaluation skips it, and the nodes that only it needs
};

// Other settings for the parameters whose names match; the first group that matches a parameter applies.
struct ParameterGroup {
  std::string pattern;                   // * matches any characters, ? one; must match at least one parameter
  double rate = 1;                       // factor of the learning rate
  Attributes attributes = {};            // instead of the optimizer's; or gradient_scale (docs/reference/graph.md 5)
  std::optional<double> clip_norm = {};  // largest norm of this group; 0: no clipping; unset: as for all
};

// Adds states "<name>@average" for parameters and running statistics, which Evaluate and Predict read instead.
struct MovingAverage {
  double decay = 0;           // between 0 and 1: a' = decay a + (1 - decay) w
  std::string pattern = "*";  // of the names of parameters and running statistics
  bool warmup = false;        // decay is at most (1 + t) / (10 + t) in step t = 1, 2, ...
};

struct Description {
  std::string name = {};
  std::vector<Node> nodes = {};
  std::string loss = {};                  // the scalar that training minimises
  std::vector<std::string> metrics = {};  // further scalars that steps report
  std::string optimizer = "sgd";
  Attributes optimizer_attributes = {};
  double clip_norm = 0;        // largest global norm of the gradient; 0: no clipping
  double learning_rate = 0.1;  // or its peak, where a schedule says so
  // Of the learning rate over steps: docs/reference/graph.md 5. "schedule": "constant", "step", "exponential",
  // "halving", "inverse_square_root", "cosine", "linear", "polynomial", "one_cycle", "plateau"; "warmup_steps",
  // "decay", ...
  Attributes schedule = {};
  std::vector<FurtherLoss> further_losses = {};
  std::vector<ParameterGroup> groups = {};
  std::optional<MovingAverage> average = {};
};

class Model {
 public:
  // .pbtxt, .textproto, .pb, .pt2, .onnx
  static Result<Model> FromFile(const std::string& path, const Import& import = {});
  static Result<Model> FromText(const std::string& pbtxt);
  static Result<Model> FromDescription(const Description& description);

  // The same graph for batches of another size.
  Result<Model> WithBatch(int64_t batch) const;
  std::vector<Field> fields() const;  // that training wants

 private:
  friend class Plan;
  friend class Session;
  struct Parts;
  explicit Model(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// The split of a model: data x model ranks by rule, a strategy file, or what a search finds.
struct Split {
  int data = 1, model = 1;
  std::string strategy_file = {};
  // "auto", "data", "grid", "groups", "placement", "pipeline" or "layerwise" (docs/guide/search.md), for `ranks`
  // devices of a cluster (0: all): one that Partita knows by name or a file, or the machine of a profile (`trainer
  // calibrate`).
  std::string search = {};
  int ranks = 0;
  std::string cluster = {}, profile = {};
  int micro_batches = 0;       // of a pipeline; 0: the strategy's
  std::string recompute = {};  // blocks to compute again in the backward pass, as the trainer's --recompute; "": none
};

enum class Device : uint8_t { kHost, kCuda };

struct Options {
  uint64_t seed = 1;             // seed of initial values and dropout; at most 2^53
  int threads_per_rank = 0;      // 0: divides the cores that this process may use among the ranks
  int64_t memory_limit = 0;      // bytes of one rank; 0: none
  int64_t steps = 0;             // of the whole run; Train needs it where the learning rate's schedule has a length
  bool f64 = false;              // floating values as f64
  bool mixed_precision = false;  // compute in bf16 on f32 weights
  std::vector<std::string> predict = {};  // values of the graph that Predict returns
  bool train = true;                      // false: only for Predict, without memory for gradients and optimizer
  Device device = Device::kHost;
  int gpu = -1;           // of kCuda, for all ranks of this process; -1: the local rank, else 0
  std::string data = {};  // files for Fit: a path that the trainer's --data takes (docs/reference/data.md)
  // Other settings of a run, by the name of the trainer's flag (docs/reference/flags.md), e.g.
  // {"epochs", "5"}, {"batch", "64"}, {"checkpoint", "folder"}, {"resume", "auto"}, {"load", "file"}, {"save", "file"},
  // {"tf32", "true"}, {"timeout", "30"}. What the fields above give may not be given again. Files that `save` and
  // `checkpoint` name are written by Fit.
  //
  // A process that a launcher has started as one of several (torchrun, mpirun, srun, Kubernetes, `trainer launch`) runs
  // one rank of the split; the others are in the other processes, which make the same calls.
  std::map<std::string, std::string> settings = {};
  // The same without a launcher: this process runs rank `transport->rank`. Session::Start waits for the others.
  std::shared_ptr<const Transport> transport = nullptr;
};

// What a session would be, found without starting it: `trainer plan` as a call. Reads the graph, but no weights and no
// data, and writes nothing. Many threads may read a plan.
class Plan {
 public:
  // With the arguments of Session::Start. Settings may also be those of `trainer plan`, as objective and repair; what
  // only training reads has no effect. kDoesNotFit: the message says what is lacking.
  static Result<Plan> Make(const Model& model, const Split& split, const Options& options);
  static Result<Plan> Make(const Model& model, const Run& run);

  const PlanSummary& summary() const;
  // What `trainer plan --deterministic --format=json` prints (proto/plan.proto): ranks with memory, times and launches,
  // nodes with layouts and bytes, groups, and what a search compared.
  Result<std::string> Json() const;
  // The page of `trainer plan --page`: HTML that loads nothing. kInvalidArgument: there is no machine.
  Result<std::string> Page() const;
  // The split as a strategy file (.pbtxt); comments say why it was chosen. A session with it runs what was planned.
  Result<std::string> StrategyText() const;

 private:
  struct Parts;
  explicit Plan(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<Parts> parts_;
};

// Where lines go that a run says besides its results: what it survived, what it chose. For all sessions of the process;
// null, as at the beginning: nowhere. The function is called by one thread at a time and must not start calls itself.
void SetLog(std::function<void(Level level, const std::string& line)> log);

class Session {
 public:
  // Splits the model, proves that the split has no race, and starts the ranks.
  static Result<Session> Start(const Model& model, const Split& split, const Options& options);
  static Result<Session> Start(const Model& model, const Run& run);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Trains on Options::data to the end of the run (settings epochs and steps), with checkpoints and saved models as the
  // settings say, and evaluates the test set after each epoch. A call that was stopped is continued by the next one. An
  // error in a file of the data comes after the steps before it; what they learnt is in the states.
  Result<FitResult> Fit(const FitOptions& options = {});
  // Any thread: ends the Fit in progress after the steps in flight; it returns with `stopped`, and the session stays
  // usable.
  void Interrupt();

  // One step over the whole batch, in a session without Options::data.
  Result<StepResult> Train(const Fields& batch);
  // The same without training: batch norm by its running statistics, no dropout.
  Result<StepResult> Evaluate(const Fields& batch);
  // The values of Options::predict, whole. Labels are not needed. A batch of fewer samples than the graph's gives as
  // many rows; then each value must have a row for each sample.
  Result<std::map<std::string, Tensor>> Predict(const Fields& batch);
  // The results, by name, of an entry point that the graph defines (docs/reference/graph.md 6), also in a session that
  // trains. `batch`: a field for each of its inputs.
  Result<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch);

  // Writes and reads the file of `train --save` (docs/reference/model-files.md 1): all states, whole under every split,
  // the step number and, if the session has loaded them, preprocessing and class names. Training that Load resumes from
  // such a file is bitwise identical to training without a stop. Load and `train --load` read each other's files. The
  // optimizer must be the file's. A session that does not train (Options::train) writes and reads what predictions
  // need: parameters, running statistics and moving averages. Load reads only these from a file without a step. An
  // average that the file lacks gets the value of its parameter or statistic.
  Outcome Save(const std::string& path) const;
  Outcome Load(const std::string& path);
  // Loads only what predictions need, even if the file has more; optimizer and step do not change.
  Outcome LoadWeights(const std::string& path);
  // Of the images of Options::data, or of the file that was loaded last; none: they do not say.
  std::optional<Preprocessing> preprocessing() const;
  std::vector<std::string> states() const;  // empty after Cancel or on misuse
  Result<Tensor> Read(const std::string& state) const;
  Outcome Write(const std::string& state, const View& value);

  // Any thread may call it at any time, and it is final: the running step and every later call return kCancelled, also
  // Save and Read, because the step may have stopped in the middle. Save before you cancel. To continue, start another
  // session and call Load.
  void Cancel();

 private:
  struct Parts;
  explicit Session(std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;  // a call in progress has them too
};

}  // namespace partita::api

#endif  // PARTITA_PARTITA_PARTITA_H_
