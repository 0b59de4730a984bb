#include "runtime/decode/set_decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/stop_vote.h"

namespace partita {
namespace {

constexpr char kLastWords[] = "last_words", kLogProbabilities[] = "log_probabilities", kAttention[] = "attention",
               kPlaces[] = "places";

using Tensors = std::vector<HostTensor>;

size_t RowBytes(const HostTensor& tensor) { return tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]); }

void CopyRow(const HostTensor& from, int64_t row, HostTensor& to, int64_t to_row) {
  const size_t bytes = RowBytes(from);
  std::memcpy(to.bytes.data() + static_cast<size_t>(to_row) * bytes,
              from.bytes.data() + static_cast<size_t>(row) * bytes, bytes);
}

HostTensor Zeros(const TensorType& type) {
  return {type.dtype, type.shape, std::vector<char>(static_cast<size_t>(Elements(type.shape) * SizeOf(type.dtype)))};
}

// Of f32 or f64, of each row.
void WriteDiagonals(HostTensor& rows) {
  const int64_t places = rows.shape[1], size = SizeOf(rows.dtype);
  const double wide = 1;
  const float narrow = 1;
  for (int64_t i = 0; i < rows.shape[0] * places; ++i) {
    char* const to = rows.bytes.data() + (i * places + i % places) * size;
    std::memcpy(to, size == sizeof(wide) ? static_cast<const void*>(&wide) : &narrow, static_cast<size_t>(size));
  }
}

// The first `rows` rows, as f32.
void AppendFloats(const HostTensor& tensor, int64_t rows, std::vector<float>& to) {
  const auto count = static_cast<size_t>(Elements(tensor.shape) / tensor.shape[0] * rows);
  to.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (tensor.dtype == DType::kF64) {
      double value = 0;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(value), sizeof(value));
      to[i] = static_cast<float>(value);
    } else {
      std::memcpy(&to[i], tensor.bytes.data() + i * sizeof(float), sizeof(float));
    }
  }
}

std::string Printed(const TensorType& type) { return fmt::format("{}{}", Name(type.dtype), ToString(type.shape)); }

// The place of a result; none: -1.
int FindResult(const EntryPoint& entry, const std::string& name) {
  const auto found = std::ranges::find(entry.results, name, &EntryResult::name);
  return found == entry.results.end() ? -1 : static_cast<int>(found - entry.results.begin());
}

const TensorType& ResultType(const EntryPoint& entry, int result) {
  return entry.graph.type(entry.results[static_cast<size_t>(result)].value);
}

// The place of a field; none: -1.
int FindField(const BatchSource& source, const std::string& name) {
  const auto found = std::ranges::find(source.fields(), name, &Field::name);
  return found == source.fields().end() ? -1 : static_cast<int>(found - source.fields().begin());
}

// How an input of `step` is filled.
struct StepInput {
  std::string field;
  TensorType type;
  int carried = -1;  // the result of the step before
  int encoded = -1;  // the result of `encode`
  int given = -1;    // the field of the data, where there are neither
};

// What the two entry points are given and give; the sizes fit.
struct DecodedProgram {
  int64_t rows = 0;
  std::vector<std::string> encode_fields;
  HostTensor last_words;
  std::vector<StepInput> inputs;  // without the last words
  int log_probabilities = -1, attention = -1;
};

// Whole, with the micro-batches that a program may have.
TensorType TypeOf(const EntryPoint& entry, const EntryInput& input) {
  TensorType type = entry.graph.type(input.values[0]);
  if (!type.shape.empty()) type.shape[0] *= static_cast<int64_t>(input.values.size());
  return type;
}

absl::Status CheckFills(const std::string& field, const TensorType& type, const EntryPoint& entry, int result) {
  if (result < 0 || ResultType(entry, result) == type) return absl::OkStatus();
  return InvalidArgument("input {} of '{}' is {}; the result of '{}' that fills it is {}", Quoted(field), kStepEntry,
                         Printed(type), entry.name, Printed(ResultType(entry, result)));
}

// [N, n] or [N, 1, n], floating.
absl::Status CheckScores(const EntryPoint& step, int result, int64_t rows) {
  const TensorType& type = ResultType(step, result);
  const bool shaped = (type.shape.size() == 2 || (type.shape.size() == 3 && type.shape[1] == 1)) &&
                      type.shape[0] == rows && (type.dtype == DType::kF32 || type.dtype == DType::kF64);
  if (shaped) return absl::OkStatus();
  return InvalidArgument("result {} of '{}' is {}; [{}, n] or [{}, 1, n] of type f32 or f64 is needed",
                         Quoted(step.results[static_cast<size_t>(result)].name), kStepEntry, Printed(type), rows, rows);
}

absl::StatusOr<HostTensor> LastWordsOf(const EntryPoint& step) {
  const EntryInput* const input = step.FindInput(kLastWords);
  if (input == nullptr) return InvalidArgument("entry point '{}' has no input '{}'", kStepEntry, kLastWords);
  const TensorType type = TypeOf(step, *input);
  if (type.dtype == DType::kI32 && Elements(type.shape) == type.shape[0]) return Zeros(type);
  return InvalidArgument("input '{}' of '{}' is {}; i32, one for each row, is needed", kLastWords, kStepEntry,
                         Printed(type));
}

absl::StatusOr<StepInput> InputOf(const EntryPoint& encode, const EntryPoint& step, const EntryInput& input,
                                  const BatchSource& source) {
  StepInput found{input.field, TypeOf(step, input), FindResult(step, input.field), FindResult(encode, input.field)};
  RETURN_IF_ERROR(CheckFills(input.field, found.type, step, found.carried));
  RETURN_IF_ERROR(CheckFills(input.field, found.type, encode, found.encoded));
  if (found.carried >= 0 || found.encoded >= 0) return found;
  found.given = FindField(source, input.field);
  const Shape& shape = found.type.shape;
  const bool square = shape.size() == 3 && shape[1] == shape[2] && IsFloating(found.type.dtype);
  if (found.given < 0 && input.field == kPlaces && square) return found;
  if (found.given < 0) {
    return InvalidArgument("input {} of '{}' is filled by no result of '{}' or '{}', and by no field of the data",
                           Quoted(input.field), kStepEntry, kEncodeEntry, kStepEntry);
  }
  const Field& field = source.fields()[static_cast<size_t>(found.given)];
  TensorType type{field.dtype, {source.batch_rows()}};
  for (const int64_t size : field.row) type.shape.push_back(size);
  if (type == found.type) return found;
  return InvalidArgument("input {} of '{}' is {}; the field of the data is {}", Quoted(input.field), kStepEntry,
                         Printed(found.type), Printed(type));
}

absl::StatusOr<DecodedProgram> Understand(const Program& program, const BatchSource& source, int64_t beam) {
  for (const char* const entry : {kEncodeEntry, kStepEntry}) RETURN_IF_ERROR(program.PlaceOf(entry).status());
  const EntryPoint &encode = *program.Find(kEncodeEntry), &step = *program.Find(kStepEntry);
  DecodedProgram decoded;
  ASSIGN_OR_RETURN(decoded.last_words, LastWordsOf(step));
  decoded.rows = decoded.last_words.shape[0];
  if (decoded.rows != source.batch_rows() || decoded.rows < beam) {
    return InvalidArgument("'{}' has {} rows and a batch of the data {}; as many are needed, at least the beam's {}",
                           kStepEntry, decoded.rows, source.batch_rows(), beam);
  }
  for (const EntryInput& input : encode.inputs) decoded.encode_fields.push_back(input.field);
  for (const EntryInput& input : step.inputs) {
    if (input.field == kLastWords) continue;
    ASSIGN_OR_RETURN(decoded.inputs.emplace_back(), InputOf(encode, step, input, source));
  }
  decoded.log_probabilities = FindResult(step, kLogProbabilities);
  decoded.attention = FindResult(step, kAttention);
  if (decoded.log_probabilities < 0) {
    return InvalidArgument("entry point '{}' has no result '{}'", kStepEntry, kLogProbabilities);
  }
  RETURN_IF_ERROR(CheckScores(step, decoded.log_probabilities, decoded.rows));
  if (decoded.attention >= 0) RETURN_IF_ERROR(CheckScores(step, decoded.attention, decoded.rows));
  return decoded;
}

// The steps of some samples of a batch: of these rows of what was encoded, at most N / beam.
class GroupSteps {
 public:
  GroupSteps(Session& session, const DecodedProgram& decoded, const Tensors& fields, const Tensors& encoded,
             std::span<const int64_t> samples, int64_t beam)
      : session_(session), decoded_(decoded), last_words_(decoded.last_words), beam_(beam) {
    for (const StepInput& input : decoded.inputs) {
      HostTensor& rows = inputs_.emplace_back(Zeros(input.type));
      if (input.field == kPlaces && input.carried < 0) WriteDiagonals(rows);
      if (input.encoded < 0 && input.given < 0) continue;
      const HostTensor& from =
          input.encoded >= 0 ? encoded[static_cast<size_t>(input.encoded)] : fields[static_cast<size_t>(input.given)];
      for (int64_t row = 0; row < decoded.rows; ++row) {
        CopyRow(from, samples[std::min(static_cast<size_t>(row / beam_), samples.size() - 1)], rows, row);
      }
    }
  }

  absl::StatusOr<NextWords> Step(std::span<const int32_t> ids, std::span<const int32_t> parents) {
    for (size_t i = 0; i < inputs_.size() && !results_.empty(); ++i) {
      const int carried = decoded_.inputs[i].carried;
      if (carried < 0) continue;
      for (size_t row = 0; row < parents.size(); ++row) {
        CopyRow(results_[static_cast<size_t>(carried)], parents[row], inputs_[i], static_cast<int64_t>(row));
      }
    }
    std::memcpy(last_words_.bytes.data(), ids.data(), ids.size_bytes());
    RETURN_IF_ERROR(session_.StageInput(kStepEntry, kLastWords, last_words_));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(session_.StageInput(kStepEntry, decoded_.inputs[i].field, inputs_[i]));
    }
    ASSIGN_OR_RETURN(results_, session_.Compute(kStepEntry));
    const auto rows = static_cast<int64_t>(ids.size());
    AppendFloats(results_[static_cast<size_t>(decoded_.log_probabilities)], rows, log_probabilities_);
    if (decoded_.attention >= 0) AppendFloats(results_[static_cast<size_t>(decoded_.attention)], rows, attention_);
    return NextWords{log_probabilities_, attention_};
  }

 private:
  Session& session_;
  const DecodedProgram& decoded_;
  HostTensor last_words_;
  const int64_t beam_;
  Tensors inputs_, results_;
  std::vector<float> log_probabilities_, attention_;
};

class SetDecoder {
 public:
  SetDecoder(Session& session, const BatchSource& source, const SetDecoderOptions& options, DecodedProgram decoded,
             const std::atomic<int>* stop)
      : session_(session), source_(source), options_(options), decoded_(std::move(decoded)), stop_(stop) {}

  // False: it was asked to stop, and `best` lacks samples of this batch. A batch of a large model takes minutes, so
  // processes ask each other before each group of samples, and a process that is alone looks before each step.
  absl::StatusOr<bool> DecodeBatch(int64_t number, std::vector<Hypothesis>& best) {
    ASSIGN_OR_RETURN(const Tensors fields, WholeBatch(source_, number));
    for (const std::string& field : decoded_.encode_fields) RETURN_IF_ERROR(Stage(field, fields));
    ASSIGN_OR_RETURN(const Tensors encoded, session_.Compute(kEncodeEntry));
    const int64_t samples = std::min(decoded_.rows, source_.samples() - number * decoded_.rows);
    const std::vector<int64_t> order = ByLength(fields, samples);
    const size_t before = best.size();
    best.resize(before + order.size(), Hypothesis{.ended = false});
    std::span<const int64_t> left = order;
    while (!left.empty()) {
      ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(session_, stop_));
      if (stopped_by != 0) return false;
      const auto group = left.first(std::min(left.size(), static_cast<size_t>(decoded_.rows / options_.beam.beam)));
      left = left.subspan(group.size());
      GroupSteps steps(session_, decoded_, fields, encoded, group, options_.beam.beam);
      auto found =
          BeamSearch(PlacesOf(fields, group), options_.beam, [&](auto ids, auto parents) -> absl::StatusOr<NextWords> {
            if (StopsAlone()) return absl::CancelledError();
            return steps.Step(ids, parents);
          });
      if (StopsAlone()) return false;
      RETURN_IF_ERROR(found.status());
      for (size_t i = 0; i < group.size(); ++i) {
        if (!(*found)[i].empty()) best[before + static_cast<size_t>(group[i])] = std::move((*found)[i].front());
      }
    }
    return true;
  }

 private:
  bool StopsAlone() const { return stop_ != nullptr && session_.alone() && stop_->load() != 0; }

  absl::Status Stage(const std::string& name, const Tensors& fields) {
    const int place = FindField(source_, name);
    if (place >= 0) return session_.StageInput(kEncodeEntry, name, fields[static_cast<size_t>(place)]);
    return InvalidArgument("input {} of '{}': the data has no such field", Quoted(name), kEncodeEntry);
  }

  // Of each row of the batch; empty: nobody says it.
  std::vector<int32_t> LengthsOf(const Tensors& fields) const {
    const int field = FindField(source_, options_.lengths_field);
    if (field < 0) return {};
    const HostTensor& tensor = fields[static_cast<size_t>(field)];
    if (tensor.dtype != DType::kI32 || tensor.shape.size() != 1) return {};
    std::vector<int32_t> lengths(static_cast<size_t>(tensor.shape[0]));
    std::memcpy(lengths.data(), tensor.bytes.data(), tensor.bytes.size());
    return lengths;
  }

  // The batch's samples, short ones first: those that are decoded together end in about as many steps.
  std::vector<int64_t> ByLength(const Tensors& fields, int64_t samples) const {
    std::vector<int64_t> order(static_cast<size_t>(samples));
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int32_t> lengths = LengthsOf(fields);
    if (lengths.empty()) return order;
    std::ranges::stable_sort(order, {}, [&](int64_t sample) { return lengths[static_cast<size_t>(sample)]; });
    return order;
  }

  // That coverage counts, as many as attention has where nobody says it.
  std::vector<int64_t> PlacesOf(const Tensors& fields, std::span<const int64_t> samples) const {
    const EntryPoint& step = *session_.program().Find(kStepEntry);
    const int64_t all = decoded_.attention < 0 ? 0 : ResultType(step, decoded_.attention).shape.back();
    std::vector<int64_t> places(samples.size(), all);
    const std::vector<int32_t> lengths = LengthsOf(fields);
    for (size_t i = 0; i < places.size() && !lengths.empty(); ++i) {
      places[i] = std::clamp<int64_t>(lengths[static_cast<size_t>(samples[i])], 0, all);
    }
    return places;
  }

  Session& session_;
  const BatchSource& source_;
  const SetDecoderOptions& options_;
  const DecodedProgram decoded_;
  const std::atomic<int>* const stop_;
};

}  // namespace

absl::StatusOr<std::optional<std::vector<Hypothesis>>> DecodeSet(Session& session, const BatchSource& source,
                                                                 const SetDecoderOptions& options,
                                                                 const std::atomic<int>* stop) {
  if (source.buckets() > 1) {
    return InvalidArgument("hypotheses are in the order of the set; data in {} buckets has another", source.buckets());
  }
  ASSIGN_OR_RETURN(DecodedProgram decoded,
                   Understand(session.program(), source, std::max<int64_t>(1, options.beam.beam)));
  SetDecoder decoder(session, source, options, std::move(decoded), stop);
  std::vector<Hypothesis> best;
  for (int64_t batch = 0; batch < source.batches_per_epoch(); ++batch) {
    ASSIGN_OR_RETURN(const bool whole, decoder.DecodeBatch(batch, best));
    if (!whole) return std::nullopt;
    if (options.on_progress) options.on_progress(static_cast<int64_t>(best.size()));
  }
  return best;
}

}  // namespace partita
