// Made by tools/c_interface from partita/c/api.toml.
//
// Partita as a C library: trains a dataflow graph on many ranks, and predicts with it.
//
// Calls: a function that can fail returns an error, or NULL on success. An error has a code and a sentence, and the
// caller frees it. On error, out-parameters are left as they were. No call throws, exits, aborts, prints, installs a
// signal handler or changes the environment.
//
// Structs: the caller sets `size` of each struct that it passes, also of those that a call fills in, to its sizeof. A
// program thus keeps working with a later library whose structs have more members.
//
// Strings are UTF-8 and end with NUL. The library copies what it is passed; memory that it returns belongs to the
// object that the function's comment names.
//
// Threads: any number of threads may read a model, a plan or values. A session runs one call at a time: a second call,
// also from a callback, gets PARTITA_MISUSE at once, except partita_session_interrupt and partita_session_cancel, which
// any thread may call. After fork() sessions keep working in the parent; in the child each of their calls returns
// PARTITA_MISUSE. A call with a model, plan, session or values that are not alive, e.g. because they were freed,
// returns PARTITA_MISUSE; errors are not looked up, and may not be used after they were freed.
#ifndef PARTITA_PARTITA_C_PARTITA_H_
#define PARTITA_PARTITA_C_PARTITA_H_

#include <stddef.h>
#include <stdint.h>

#define PARTITA_VERSION_MAJOR 0
#define PARTITA_VERSION_MINOR 2
#define PARTITA_VERSION_PATCH 0

#define PARTITA_API __attribute__((visibility("default")))
#define PARTITA_DEPRECATED(why) __attribute__((deprecated(why)))

#ifdef __cplusplus
extern "C" {
#endif

// Errors

// What kind of error there was.
typedef int32_t partita_code;
enum {
  PARTITA_OK = 0,                // no error
  PARTITA_INVALID_ARGUMENT = 1,  // the graph, the split, a setting, a file or a tensor is wrong
  PARTITA_DOES_NOT_FIT = 2,      // memory or another limit
  PARTITA_NOT_FINITE = 3,        // the loss or the norm of clipped gradients is not finite; no state has changed
  PARTITA_CANCELLED = 4,         // the session was cancelled
  PARTITA_UNAVAILABLE = 5,       // a device, or another rank, is missing
  PARTITA_INTERNAL = 6,          // a bug in Partita
  PARTITA_MISUSE = 7,            // two calls at once, an object that was freed, or a session of the parent process
};

// Why a call failed.
typedef struct partita_error partita_error;

// The code of an error; PARTITA_OK of NULL.
PARTITA_API partita_code partita_error_code(const partita_error* error);

// One sentence: which file, node or field, what was found and what is allowed. The error's; "" of NULL.
PARTITA_API const char* partita_error_message(const partita_error* error);

// Frees an error; NULL is allowed.
PARTITA_API void partita_error_free(partita_error* error);

// The library

// The version of the library, e.g. "0.2.0"; a constant.
PARTITA_API const char* partita_version(void);

// How much a line of the log matters.
typedef int32_t partita_level;
enum {
  PARTITA_LEVEL_DETAIL = 0,
  PARTITA_LEVEL_INFO = 1,
  PARTITA_LEVEL_WARNING = 2,
};

// Receives a line without newline. Called by one thread at a time; must not call the library.
typedef void (*partita_log_function)(void* user, partita_level level, const char* line);

// Where lines go that a run logs besides its results, for all sessions of the process. NULL, as at the beginning:
// nowhere.
PARTITA_API partita_error* partita_set_log(partita_log_function log, void* user);

// Tensors

// The type of an element.
typedef int32_t partita_type;
enum {
  PARTITA_F32 = 0,
  PARTITA_F64 = 1,
  PARTITA_I32 = 2,
  PARTITA_U8 = 3,
};

// A dense, row-major tensor: passed in, a view of the caller's memory that is read only during the call.
typedef struct partita_tensor {
  size_t size;       // sizeof of this struct
  const char* name;  // the graph's name of it: a field of a batch, a value, a state
  partita_type type;
  int32_t rank;          // number of dimensions
  const int64_t* shape;  // rank sizes, in elements; the first dimension of a field is the batch
  const void* data;      // NULL where only the form is described
} partita_tensor;

// A view of a DLTensor of DLPack, without a copy; it is valid as long as `source`, its memory and `name`.
// PARTITA_INVALID_ARGUMENT: a tensor that is not in host memory, not dense and row-major, or of another type.
PARTITA_API partita_error* partita_tensor_from_dlpack(const char* name, const void* source, partita_tensor* tensor);

// Tensors by name, in their order by name: what a call returned.
typedef struct partita_values partita_values;

// The number of tensors; 0 of NULL.
PARTITA_API size_t partita_values_count(const partita_values* values);

// A tensor by its index. What it points to is the values'.
PARTITA_API partita_error* partita_values_get(const partita_values* values, size_t index, partita_tensor* tensor);

// A tensor by its name. What it points to is the values'.
PARTITA_API partita_error* partita_values_find(const partita_values* values, const char* name, partita_tensor* tensor);

// A tensor as a DLManagedTensor of DLPack, without a copy. Its memory lives until its deleter was called and the values
// were freed.
PARTITA_API partita_error* partita_values_to_dlpack(const partita_values* values, size_t index, void** tensor);

// Frees values; NULL is allowed.
PARTITA_API void partita_values_free(partita_values* values);

// Models

// A graph with its loss and optimizer. It never changes.
typedef struct partita_model partita_model;

// How an exported program of PyTorch (.pt2) or an ONNX model (.onnx) is read.
typedef struct partita_import_options {
  size_t size;  // sizeof of this struct
  // of one that returns predictions: "cross_entropy", "mse", "l1" or "bce_with_logits"; NULL: it returns its loss
  const char* loss;
  // not 0: batch norms may be those of a module in evaluation, and keep their statistics
  int32_t frozen_statistics;
} partita_import_options;

// Reads a graph (.pbtxt, .textproto, .pb), an exported program (.pt2) or an ONNX model (.onnx). `options`: NULL for the
// defaults.
PARTITA_API partita_error* partita_model_from_file(const char* path, const partita_import_options* options,
                                                   partita_model** model);

// A graph from the text of a .pbtxt file.
PARTITA_API partita_error* partita_model_from_text(const char* text, partita_model** model);

// The same graph for batches of another size, in samples.
PARTITA_API partita_error* partita_model_with_batch(const partita_model* model, int64_t batch, partita_model** other);

// The number of fields that a batch of training has; 0 of NULL.
PARTITA_API size_t partita_model_field_count(const partita_model* model);

// Name, type and shape of a field, without data. What it points to is the model's.
PARTITA_API partita_error* partita_model_field(const partita_model* model, size_t index, partita_tensor* field);

// Frees a model; NULL is allowed. Sessions that were started with it keep what they need.
PARTITA_API void partita_model_free(partita_model* model);

// Sessions

// A model at work on its ranks.
typedef struct partita_session partita_session;

// Sends all bytes to a rank; blocks until they were taken over. 0: the rank is gone, or was closed.
typedef int32_t (*partita_send_function)(void* user, int32_t to, const void* data, size_t bytes);

// Fills in all bytes, which are those of one send; blocks until they are there. 0: the rank is gone, or was closed.
typedef int32_t (*partita_receive_function)(void* user, int32_t from, void* data, size_t bytes);

// Ends both directions with a rank, so that waiting calls return 0. Any thread calls it, maybe several times.
typedef void (*partita_close_function)(void* user, int32_t rank);

// How an all_reduce combines elements. Later versions may have more; a function returns 0 for one that it does not
// know.
typedef int32_t partita_reduction;
enum {
  PARTITA_SUM = 0,
};

// A reduction among the ranks of a group: output[i] = the sum of the members' input[i].
typedef struct partita_all_reduce {
  size_t size;           // sizeof of this struct
  int32_t group;         // from 0, the same on all members; differs between the groups of a session
  int32_t rank_count;    // 2 or more
  const int32_t* ranks;  // the members, in the same order on all of them
  partita_reduction reduction;
  partita_type type;  // PARTITA_F32, PARTITA_F64 or PARTITA_I32
  size_t count;       // elements, the same on all members
  const void* input;
  void* output;  // may be `input`; overlaps it in no other way
} partita_all_reduce;

// Takes part in a reduction; blocks until `output` is filled in. It is called for the sums of f32, f64 and i32 on the
// host, gradients among them; all other collectives are sent. Results must be bitwise the same on all members; they are
// those of threads if elements are added in the order of `ranks`, as any two are. Members of a group call it in the
// same order, one call at a time; calls of several groups run at once, each on a thread of its own. 0: it failed, or a
// member was closed; then nothing writes to `output` any more.
typedef int32_t (*partita_all_reduce_function)(void* user, const partita_all_reduce* reduction);

// Waits until all ranks have called it: once, when a session starts, before anything is sent. 0: a rank is gone.
typedef int32_t (*partita_barrier_function)(void* user);

// Makes a value of at most 65536 bytes known to all ranks. Each key is put once in a session. Keys begin with
// "partita/" and are the same for every session, so each session needs a store, or a prefix, of its own. Every reader
// of the store may join the job. 0: the store is gone.
typedef int32_t (*partita_put_function)(void* user, const char* key, const void* value, size_t bytes);

// Waits until a rank has put the key. `*bytes` is the room at `value`, and then the size of the value. 0: the key was
// not put within that time, or the store is gone.
typedef int32_t (*partita_get_function)(void* user, const char* key, int64_t milliseconds, void* value, size_t* bytes);

// How the ranks of a job reach each other where the program does it, e.g. by MPI, one rank in each process. With send,
// receive and close all bytes go by the program: for each other rank, one thread sends while another one receives, and
// what a rank sends arrives in order. With put and get in their place, the ranks find each other by the program and
// connect by themselves, by memory on one host, else by TCP. all_reduce, which needs close, and barrier are optional
// with both. All functions and `user` are used until the session was freed and its last call has ended. They must not
// call the library. Results are bitwise those of threads, unless an all_reduce adds in another order.
typedef struct partita_transport {
  size_t size;    // sizeof of this struct
  int32_t rank;   // of this process
  int32_t ranks;  // of the job
  partita_send_function send;
  partita_receive_function receive;
  partita_close_function close;
  void* user;  // passed to all functions
  partita_all_reduce_function all_reduce;
  partita_barrier_function barrier;
  partita_put_function put;
  partita_get_function get;
  // with put and get: numeric, of this process's interface that the others reach; NULL: 127.0.0.1
  const char* address;
} partita_transport;

// How a session runs.
typedef struct partita_session_options {
  size_t size;  // sizeof of this struct
  // lines `name = value` as in a --config file, or a JSON object, of the flags of `trainer train`
  // (docs/reference/flags.md), e.g. "dp = 2\nthreads = 4"; `data` is for partita_session_fit; NULL: none
  const char* settings;
  const char* const* values;  // names of the values that partita_session_predict returns
  size_t value_count;
  int32_t predict_only;                // not 0: no memory for gradients and optimizer
  const partita_transport* transport;  // to the other ranks of a job; NULL: none, or that of a launcher
} partita_session_options;

// Splits the model as the settings say, proves that the split has no race, and starts the ranks. `options`: NULL for
// the defaults: one rank, no predictions. A process that a launcher (torchrun, mpirun, srun, Kubernetes, `trainer
// launch`) has started as one of several runs one rank; the others make the same calls.
PARTITA_API partita_error* partita_session_start(const partita_model* model, const partita_session_options* options,
                                                 partita_session** session);

// Plans

// What a session would be, found without starting it.
typedef struct partita_plan partita_plan;

// What `trainer plan` does: chooses the split and predicts its step, memory and bytes. Settings may also be those of
// `trainer plan`, e.g. objective and repair; what only training reads has no effect, nor have the other options.
// PARTITA_DOES_NOT_FIT: the message says what is lacking. `options`: NULL for the defaults.
PARTITA_API partita_error* partita_plan_make(const partita_model* model, const partita_session_options* options,
                                             partita_plan** plan);

// What a plan predicts, in short. Times are those of the rank that takes longest, and 0 without a machine: the settings
// cluster and profile name one. Strings are the plan's.
typedef struct partita_plan_summary {
  size_t size;             // sizeof of this struct
  const char* split;       // "data:2 model:2", or the trainer's flags that say it
  const char* cluster;     // the machine's; "": none
  int32_t ranks;           // one device each
  int64_t batch;           // samples of a step; 0: the graph reads none
  double step_seconds;     // the sum of the next three
  double compute_seconds;  // kernels or copies run
  double exposed_seconds;  // collectives run, waiting for other ranks included, and nothing is computed
  double idle_seconds;
  int64_t memory_bytes;         // of the fullest rank
  int64_t memory_limit_bytes;   // of a rank, by the setting memory; 0: none
  int64_t device_used_bytes;    // of the fullest device, by all ranks on it
  int64_t device_memory_bytes;  // that this device has; 0: there is no machine
  int64_t wire_bytes;           // that leave ranks in a step
} partita_plan_summary;

// The plan in short.
PARTITA_API partita_error* partita_plan_summarize(const partita_plan* plan, partita_plan_summary* summary);

// What `trainer plan --deterministic --format=json` prints: ranks with memory, times and launches, nodes with layouts
// and bytes, groups, and what a search compared. The text is the plan's, as are the next two.
PARTITA_API partita_error* partita_plan_json(const partita_plan* plan, const char** json);

// The page of `trainer plan --page`: HTML that loads nothing. PARTITA_INVALID_ARGUMENT: there is no machine.
PARTITA_API partita_error* partita_plan_page(const partita_plan* plan, const char** html);

// The split as a strategy file (.pbtxt); comments say why it was chosen. A session with that file as the setting
// strategy runs what was planned.
PARTITA_API partita_error* partita_plan_strategy(const partita_plan* plan, const char** strategy);

// Frees a plan; NULL is allowed.
PARTITA_API void partita_plan_free(partita_plan* plan);

// Steps

// The result of a step.
typedef struct partita_step {
  size_t size;  // sizeof of this struct
  double loss;
  size_t metric_count;
  const char* const* metric_names;  // the session's, until its next call; the next as well
  const double* metric_values;
  int32_t has_gradient_norm;  // not 0: gradients are clipped, or the setting gradient-norm is given
  double gradient_norm;       // of all gradients, before they are clipped
} partita_step;

// One step over a whole batch of `count` fields, in a session without the setting `data`. A wrong batch is an error of
// this call alone: no state changes. `step`: NULL if its result is not wanted.
PARTITA_API partita_error* partita_session_train(partita_session* session, const partita_tensor* batch, size_t count,
                                                 partita_step* step);

// The same without training: batch norm by its running statistics, no dropout.
PARTITA_API partita_error* partita_session_evaluate(partita_session* session, const partita_tensor* batch, size_t count,
                                                    partita_step* step);

// The values that the session was started for. Labels are not needed. A batch of fewer samples than the graph's gives
// as many rows.
PARTITA_API partita_error* partita_session_predict(partita_session* session, const partita_tensor* batch, size_t count,
                                                   partita_values** values);

// The results of an entry point that the graph defines (docs/reference/graph.md 6).
PARTITA_API partita_error* partita_session_compute(partita_session* session, const char* entry,
                                                   const partita_tensor* batch, size_t count, partita_values** values);

// Where a run stands. Pointers are valid during the callback.
typedef struct partita_progress {
  size_t size;    // sizeof of this struct
  int64_t step;   // done
  int64_t steps;  // of the whole run
  double epoch;   // passed so far, fractions included
  double loss;    // of the last step
  double learning_rate;
  double samples_per_second;
  size_t metric_count;
  const char* const* metric_names;
  const double* metric_values;
  int32_t has_gradient_norm;  // not 0: gradients are clipped, or the setting gradient-norm is given
  double gradient_norm;       // of all gradients, before they are clipped
} partita_progress;

// An epoch that ended. Pointers are valid during the callback.
typedef struct partita_epoch {
  size_t size;     // sizeof of this struct
  int32_t number;  // from 1
  double loss;     // mean over the steps
  size_t metric_count;
  const char* const* metric_names;
  const double* metric_values;
  int32_t is_tested;  // 0: there is no test set, or the run was stopped before
  double test_loss;
  size_t test_metric_count;
  const char* const* test_metric_names;
  const double* test_metric_values;
  double seconds;  // without evaluation
} partita_epoch;

// 0: the run ends after the steps in flight. Of its session it may call partita_session_interrupt,
// partita_session_cancel and partita_session_free; other calls return PARTITA_MISUSE.
typedef int32_t (*partita_progress_function)(void* user, const partita_progress* progress);

// Called after each epoch, with the same limits.
typedef void (*partita_epoch_function)(void* user, const partita_epoch* epoch);

// How long a call of partita_session_fit may take, and what it reports meanwhile.
typedef struct partita_fit_options {
  size_t size;                            // sizeof of this struct
  partita_progress_function on_progress;  // or NULL
  partita_epoch_function on_epoch;        // or NULL
  void* user;                             // passed to both
  double progress_seconds;                // between two calls of on_progress; 0: 2 seconds
  double deadline_seconds;                // the call ends after the steps in flight then; 0: it has none
} partita_fit_options;

// What a call of partita_session_fit did.
typedef struct partita_fit_result {
  size_t size;    // sizeof of this struct
  int64_t steps;  // of this call
  int64_t step;   // of the whole run, done so far
  int64_t samples;
  double seconds;  // of training, without evaluation
  // not 0: before the end of the run, by on_progress, partita_session_interrupt or the deadline
  int32_t stopped;
} partita_fit_result;

// Trains on the files of the setting `data` to the end of the run (settings epochs and steps), with checkpoints and
// saved models as the settings say, and evaluates the test set after each epoch. A call that was stopped is continued
// by the next one. `options` and `result` may be NULL.
PARTITA_API partita_error* partita_session_fit(partita_session* session, const partita_fit_options* options,
                                               partita_fit_result* result);

// Any thread: ends the partita_session_fit in progress after the steps in flight; the session stays usable.
PARTITA_API partita_error* partita_session_interrupt(partita_session* session);

// Any thread, and final: the running step and every later call return PARTITA_CANCELLED. Save before.
PARTITA_API partita_error* partita_session_cancel(partita_session* session);

// Ends the ranks and frees the session; NULL is allowed. It may be called while another call of the session runs, by
// another thread or by a callback of partita_session_fit. Then partita_session_fit stops after the steps in flight, any
// other call finishes, and the ranks end after it. Pointers in the result of that call are not valid.
PARTITA_API void partita_session_free(partita_session* session);

// States

// Writes the file of `train --save` (.safetensors, docs/reference/model-files.md 1): all states, whole under every
// split.
PARTITA_API partita_error* partita_session_save(partita_session* session, const char* path);

// Reads such a file. Training then continues bitwise as if it had not been stopped.
PARTITA_API partita_error* partita_session_load(partita_session* session, const char* path);

// Reads only what predictions need; optimizer and step do not change.
PARTITA_API partita_error* partita_session_load_weights(partita_session* session, const char* path);

// The number of states: parameters, running statistics, what the optimizer keeps.
PARTITA_API partita_error* partita_session_state_count(partita_session* session, size_t* count);

// The name of a state, the session's.
PARTITA_API partita_error* partita_session_state_name(partita_session* session, size_t index, const char** name);

// The whole tensor of a state, as the only one of the values.
PARTITA_API partita_error* partita_session_read(partita_session* session, const char* state, partita_values** values);

// Sets the state of the tensor's name; type and shape are the state's.
PARTITA_API partita_error* partita_session_write(partita_session* session, const partita_tensor* state);

// How images become a model's input: (byte / 255 - mean) / deviation, by channel.
typedef struct partita_preprocessing {
  size_t size;  // sizeof of this struct
  int64_t height;
  int64_t width;
  int64_t channels;                // 0: the session does not know
  const double* mean;              // one for each channel
  const double* deviation;         // one for each channel
  int64_t resize;                  // pixels of the shorter side before the center crop; 0: fit the input
  size_t class_count;              // 0: the classes have no names
  const char* const* class_names;  // by label
} partita_preprocessing;

// Of the images of the setting `data`, or of the file that was loaded last. Pointers are the session's, until the next
// call of this function.
PARTITA_API partita_error* partita_session_preprocessing(partita_session* session,
                                                         partita_preprocessing* preprocessing);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // PARTITA_PARTITA_C_PARTITA_H_
