// What the C++ interfaces pass and return: partita/partita.h, and partita/c/partita.hpp over the C interface. Only the
// standard library is included.
#ifndef PARTITA_PARTITA_VALUES_H_
#define PARTITA_PARTITA_VALUES_H_

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

// How an exported program of PyTorch (.pt2) or an ONNX model (.onnx) is read: docs/guide/pytorch.md 1,
// docs/guide/onnx.md 1.
struct Import {
  std::string loss = {};           // of one that returns predictions: "cross_entropy", "mse", "l1" or "bce_with_logits"
  bool frozen_statistics = false;  // batch norms may be those of a module in evaluation, and keep their statistics
};

// A sum among the ranks of a group, as a program makes it: output[i] = the sum of the members' input[i].
struct AllReduce {
  int32_t group = 0;               // the same on all members; differs between the groups of a session
  const int32_t* ranks = nullptr;  // the members, in the same order on all of them
  int32_t rank_count = 0;
  Type type = Type::kF32;  // kF32, kF64 or kI32
  size_t count = 0;        // of elements
  const void* input = nullptr;
  void* output = nullptr;  // may be `input`
};

// How the ranks of a job reach each other where the program does it, for example by MPI, one rank in each process. For
// each other rank, one thread sends while another one receives. What a rank sends arrives in order, and each receive
// asks for exactly the bytes of one send. Results are bitwise those of threads; with all_reduce they are if it adds in
// the order of `ranks`, as any does for two ranks.
//
// Without send and receive, but with put and get, the ranks connect by themselves and only find each other by the
// program.
struct Transport {
  int rank = 0;   // of this process
  int ranks = 1;  // of the job
  // Both block until all bytes were taken over or filled in. False: the other rank is gone, or was closed.
  std::function<bool(int to, const void* data, size_t bytes)> send = nullptr;
  std::function<bool(int from, void* data, size_t bytes)> receive = nullptr;
  // Ends both directions with a rank, so that waiting calls return false. Any thread calls it, maybe several times.
  std::function<void(int rank)> close = nullptr;

  // The following functions are optional; false: it failed.
  // Makes the sums of f32, f64 and i32 on the host instead of send and receive, gradients among them; results must be
  // bitwise the same on all members. Also false: a member was closed; then `output` is not written any more. One call
  // of a group at a time, several groups at once.
  std::function<bool(const AllReduce&)> all_reduce = nullptr;
  // Waits until all ranks have called it. Called once, when the session starts, before anything is sent.
  std::function<bool()> barrier = nullptr;
  // A store that all ranks reach, used when the session starts. Its keys, which begin with "partita/", are the same for
  // every session, so each session needs a store or a prefix of its own. Every reader of the store may join the job.
  static constexpr size_t kMostValueBytes = 65536;
  std::function<bool(const std::string& key, const std::string& value)> put = nullptr;
  // Waits until a rank has put it; none: not within that time.
  std::function<std::optional<std::string>(const std::string& key, int64_t milliseconds)> get = nullptr;
  std::string address = "127.0.0.1";  // with put and get: numeric, of this process's interface that the others reach
};

// All settings of a run in one text, from a file, a service or another language, by the names of the trainer's flags
// (docs/reference/flags.md).
struct Run {
  std::string settings = {};              // lines `name = value` as in a --config file, or a JSON object
  std::vector<std::string> predict = {};  // values of the graph that Predict returns
  bool train = true;                      // false: only for Predict
  std::shared_ptr<const Transport> transport = nullptr;
};

// How much a line of the log matters.
enum class Level : uint8_t { kDetail, kInfo, kWarning };

struct StepResult {
  double loss = 0;
  std::map<std::string, double> metrics;
  // Of all gradients before they are clipped; none where nothing clips them and the setting gradient-norm is not given.
  std::optional<double> gradient_norm = std::nullopt;
};

struct Progress {
  int64_t step = 0, steps = 0;  // done; of the whole run
  double epoch = 0;             // passed so far, fractions included
  double loss = 0;              // of the last step
  double learning_rate = 0;
  double samples_per_second = 0;
  std::map<std::string, double> metrics;
  std::optional<double> gradient_norm = std::nullopt;  // as in StepResult
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
  int64_t step = 0;           // of the whole run, done so far
  int64_t samples = 0;
  double seconds = 0;    // of training, without evaluation
  bool stopped = false;  // before the end of the run: by on_progress, Interrupt or the deadline
};

// What a plan predicts, in short. Times are those of the rank that takes longest, and 0 without a machine: the settings
// cluster and profile name one.
struct PlanSummary {
  std::string split = {};      // "data:2 model:2", or the trainer's flags that say it
  std::string cluster = {};    // the machine's; "": none
  int ranks = 1;               // one device each
  int64_t batch = 0;           // samples of a step; 0: the graph reads none
  double step_seconds = 0;     // the sum of the next three
  double compute_seconds = 0;  // kernels or copies run
  double exposed_seconds = 0;  // collectives run, waiting for other ranks included, and nothing is computed
  double idle_seconds = 0;
  int64_t memory_bytes = 0;         // of the fullest rank
  int64_t memory_limit_bytes = 0;   // of a rank, by the setting memory; 0: none
  int64_t device_used_bytes = 0;    // of the fullest device, by all ranks on it
  int64_t device_memory_bytes = 0;  // that this device has; 0: there is no machine
  int64_t wire_bytes = 0;           // that leave ranks in a step
};

// How images become a model's input: (byte / 255 - mean) / deviation, by channel.
struct Preprocessing {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<double> mean, deviation;   // one for each channel
  int64_t resize = 0;                    // pixels of the shorter side before the center crop; 0: fit the input
  std::vector<std::string> class_names;  // by label; empty: the classes have no names
};

}  // namespace partita::api

#endif  // PARTITA_PARTITA_VALUES_H_
