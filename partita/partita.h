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
// thread gets kMisuse at once, except Cancel, which any thread may call. No thread may destroy or move a session while
// another one is in a call. After fork() the session keeps working in the parent; in the child every call returns
// kMisuse.
//
// This header includes only the standard library.
#ifndef PARTITA_PARTITA_PARTITA_H_
#define PARTITA_PARTITA_PARTITA_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace partita::api {

enum class ErrorCode : uint8_t {
  kInvalidArgument,  // the graph, the strategy, a file or a tensor is wrong
  kDoesNotFit,       // memory or another limit
  kNotFinite,        // the loss or the norm of clipped gradients is not finite; no state has changed
  kCancelled,
  kUnavailable,  // a missing device
  kInternal,     // a bug in Partita
  kMisuse,       // two calls at once, or a session that was moved from or belongs to the parent process
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// A value, or the error that explains why there is none.
template <typename T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<Error>(state_); }  // only if !ok()
  T& operator*() & { return std::get<T>(state_); }                // only if ok(), as the next
  const T& operator*() const& { return std::get<T>(state_); }
  T&& operator*() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }

 private:
  std::variant<T, Error> state_;
};

// The result of calls without a value: no error means success.
using Outcome = std::optional<Error>;

enum class Type : uint8_t { kF32, kF64, kI32, kU8 };

// Dense, row-major; sizes in elements. The first dimension of a graph's inputs is the batch.
struct Tensor {
  Type type = Type::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

// A tensor in the caller's memory, which is read only during the call.
struct View {
  Type type = Type::kF32;
  std::vector<int64_t> shape;
  const void* data = nullptr;

  View() = default;
  View(Type element, std::vector<int64_t> sizes, const void* elements)
      : type(element), shape(std::move(sizes)), data(elements) {}
  View(const Tensor& tensor) : type(tensor.type), shape(tensor.shape), data(tensor.bytes.data()) {}
};

// The inputs of a graph: the fields of a batch by name.
using Fields = std::map<std::string, View>;

struct Field {
  std::string name;
  Type type = Type::kF32;
  std::vector<int64_t> shape;  // includes the batch
};

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

// How an exported program of PyTorch (.pt2) or an ONNX model (.onnx) is read: docs/guide/pytorch.md 1,
// docs/guide/onnx.md 1.
struct Import {
  std::string loss = {};           // of one that returns predictions: "cross_entropy", "mse", "l1" or "bce_with_logits"
  bool frozen_statistics = false;  // batch norms may be those of a module in evaluation, and keep their statistics
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

// How the ranks of a job reach each other where the program does it, for example by MPI, one rank in each process. For
// each other rank, one thread sends while another one receives. What a rank sends arrives in order, and each receive
// asks for exactly the bytes of one send. Sums are made in the order in which threads make them, so results are bitwise
// those of threads.
struct Transport {
  int rank = 0;   // of this process
  int ranks = 1;  // of the job
  // Both block until all bytes were taken over or filled in. False: the other rank is gone, or was closed.
  std::function<bool(int to, const void* data, size_t bytes)> send = nullptr;
  std::function<bool(int from, void* data, size_t bytes)> receive = nullptr;
  // Ends both directions with a rank, so that waiting calls return false. Any thread calls it, maybe several times.
  std::function<void(int rank)> close = nullptr;
};

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
  int gpu = -1;           // of kCuda, for all ranks of this process; -1: LOCAL_RANK, else 0
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

// The same in one text, from a file, a service or another language: all settings of a run, those of Split and Options
// included, by the names of the trainer's flags (docs/reference/flags.md).
struct Run {
  std::string settings = {};              // lines `name = value` as in a --config file, or a JSON object
  std::vector<std::string> predict = {};  // values of the graph that Predict returns
  bool train = true;                      // false: only for Predict
  std::shared_ptr<const Transport> transport = nullptr;
};

// Where lines go that a run says besides its results: what it survived, what it chose. For all sessions of the process;
// null, as at the beginning: nowhere. The function is called by one thread at a time and must not start calls itself.
enum class Level : uint8_t { kDetail, kInfo, kWarning };
void SetLog(std::function<void(Level level, const std::string& line)> log);

struct StepResult {
  double loss = 0;
  std::map<std::string, double> metrics;
};

struct Progress {
  int64_t step = 0, steps = 0;  // done; of the whole run
  double epoch = 0;             // passed so far, fractions included
  double loss = 0;              // of the last step
  double learning_rate = 0;
  double samples_per_second = 0;
  std::map<std::string, double> metrics;
};

struct Epoch {
  int number = 0;   // from 1
  double loss = 0;  // mean over the steps
  std::map<std::string, double> metrics;
  std::optional<double> test_loss;  // none: there is no test set, or the run was stopped before
  std::map<std::string, double> test_metrics;
  double seconds = 0;  // without evaluation
};

// How long a call of Fit may take, and what it reports meanwhile.
struct FitOptions {
  std::function<bool(const Progress&)> on_progress = nullptr;  // false: Fit ends after the steps in flight
  double progress_seconds = 2;                                 // between two calls of on_progress
  std::function<void(const Epoch&)> on_epoch = nullptr;
  double deadline_seconds = 0;  // Fit ends after the steps in flight then; 0: it has none
};

struct FitResult {
  std::vector<Epoch> epochs;  // that ended in this call
  int64_t steps = 0;          // of this call
  int64_t samples = 0;
  double seconds = 0;    // of training, without evaluation
  bool stopped = false;  // before the end of the run: by on_progress, Interrupt or the deadline
};

// How images become a model's input: (byte / 255 - mean) / deviation, by channel.
struct Preprocessing {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<double> mean, deviation;   // one for each channel
  int64_t resize = 0;                    // pixels of the shorter side before the center crop; 0: fit the input
  std::vector<std::string> class_names;  // by label; empty: the classes have no names
};

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
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace partita::api

#endif  // PARTITA_PARTITA_PARTITA_H_
