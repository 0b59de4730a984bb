#include "runtime/checkpoint/sharded/record.h"

#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"

namespace partita {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "partita.checkpoint";
constexpr char kHash[] = "xxh3";
constexpr char kNewerVersionPayload[] = "partita/newer-checkpoint-version";
constexpr int64_t kMostSteps = int64_t{1} << 53;
constexpr int64_t kMostRanks = 100'000;  // that a shard's name has digits for
constexpr int64_t kLargestSize = int64_t{1} << 59;
constexpr int kDeepest = 8;  // of brackets: a record has 5, and deep ones would overflow the stack of who looks at them

std::vector<int64_t> ListOf(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Writing.

Json ToJson(const SavedState& state) {
  Json parts = Json::array();
  for (const SavedPart& part : state.parts) {
    parts.push_back({{"rank", part.rank},
                     {"offset", ListOf(part.box.offset)},
                     {"size", ListOf(part.box.size)},
                     {kHash, part.hash}});
  }
  return {{"name", state.name}, {"dtype", Name(state.dtype)}, {"shape", ListOf(state.shape)}, {"parts", parts}};
}

Json ToJson(const CheckpointRecord& record) {
  Json states = Json::array(), shards = Json::array(), metrics = Json::array();
  for (const SavedState& state : record.states) states.push_back(ToJson(state));
  for (const SavedShard& shard : record.shards) {
    shards.push_back({{"rank", shard.rank}, {"bytes", shard.bytes}, {"head_xxh3", shard.head_hash}});
  }
  for (const auto& [name, sum] : record.epoch.metrics) metrics.push_back({{"name", name}, {"sum", sum}});
  return {{"format", kFormat},
          {"version", kRecordVersion},
          {"step", record.step},
          {"epoch", {{"steps", record.epoch.steps}, {"loss", record.epoch.loss}, {"metrics", metrics}}},
          {"metadata", record.metadata},
          {"strategy", record.strategy},
          {"graph", record.graph},
          {"states", states},
          {"shards", shards}};
}

// With its checksum; throws where text is not UTF-8.
std::string Sealed(Json json) {
  json.erase(kHash);
  json[kHash] = HashOfBytes(json.dump());
  return json.dump() + "\n";
}

// Reading: an error is of the field that was asked for last.
class Fields {
 public:
  Fields(const std::string& file, std::string path, const Json& json)
      : file_(file), path_(std::move(path)), json_(json) {}

  absl::StatusOr<const Json*> Find(const char* key) const {
    if (json_.is_object() && json_.contains(key)) return &json_[key];
    return InvalidArgument("{}: {}{}: not found", file_, path_, key);
  }
  absl::StatusOr<std::string> Text(const char* key) const {
    ASSIGN_OR_RETURN(const Json* const found, Find(key));
    if (!found->is_string()) return Unexpected(key, *found, "text");
    return found->get<std::string>();
  }
  absl::StatusOr<int64_t> Whole(const char* key, int64_t most) const {
    ASSIGN_OR_RETURN(const Json* const found, Find(key));
    if (!IsWhole(*found, most)) return Unexpected(key, *found, fmt::format("a whole number up to {}", most));
    return found->get<int64_t>();
  }
  absl::StatusOr<double> Number(const char* key) const {
    ASSIGN_OR_RETURN(const Json* const found, Find(key));
    if (!found->is_number() || !std::isfinite(found->get<double>())) return Unexpected(key, *found, "a finite number");
    return found->get<double>();
  }
  absl::StatusOr<Shape> Sizes(const char* key) const {
    ASSIGN_OR_RETURN(const Json* const found, Find(key));
    Shape sizes;
    if (!found->is_array()) return Unexpected(key, *found, "a list of sizes");
    for (const Json& size : *found) {
      if (!IsWhole(size, kLargestSize)) return Unexpected(key, *found, "a list of sizes");
      sizes.push_back(size.get<int64_t>());
    }
    return sizes;
  }
  // Each entry of a list, by its own fields.
  template <typename Take>
  absl::Status Each(const char* key, const Take& take) const {
    ASSIGN_OR_RETURN(const Json* const found, Find(key));
    if (!found->is_array()) return Unexpected(key, *found, "a list");
    for (size_t i = 0; i < found->size(); ++i) {
      RETURN_IF_ERROR(take(Fields(file_, fmt::format("{}{}[{}].", path_, key, i), (*found)[i])));
    }
    return absl::OkStatus();
  }
  absl::Status Unexpected(const char* key, const Json& found, const std::string& allowed) const {
    return InvalidArgument("{}: {}{}: found {}, allowed is {}", file_, path_, key, Printable(found.dump()), allowed);
  }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  static bool IsWhole(const Json& json, int64_t most) {
    return json.is_number_unsigned() && json.get<uint64_t>() <= static_cast<uint64_t>(most);
  }

  const std::string& file_;
  const std::string path_;
  const Json& json_;
};

absl::StatusOr<int> ReadRank(const Fields& fields) {
  ASSIGN_OR_RETURN(const int64_t rank, fields.Whole("rank", kMostRanks - 1));
  return static_cast<int>(rank);
}

absl::StatusOr<SavedPart> ReadPart(const Fields& fields) {
  SavedPart part;
  ASSIGN_OR_RETURN(part.rank, ReadRank(fields));
  ASSIGN_OR_RETURN(part.box.offset, fields.Sizes("offset"));
  ASSIGN_OR_RETURN(part.box.size, fields.Sizes("size"));
  ASSIGN_OR_RETURN(part.hash, fields.Text(kHash));
  return part;
}

bool IsWithin(const Box& box, const Shape& shape) {
  if (box.offset.size() != shape.size() || box.size.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (box.size[d] < 1 || box.offset[d] > shape[d] || box.size[d] > shape[d] - box.offset[d]) return false;
  }
  return true;
}

absl::Status CheckParts(const Fields& fields, const SavedState& state) {
  ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(state.shape));
  int64_t covered = 0;
  for (const SavedPart& part : state.parts) {
    if (!IsWithin(part.box, state.shape) || part.box.elements() > elements - covered) {
      return InvalidArgument("{}: {}parts: found the box {} at {}, allowed are boxes that tile {}", fields.file(),
                             fields.path(), ToString(part.box.size), ToString(part.box.offset), ToString(state.shape));
    }
    covered += part.box.elements();
  }
  if (covered == elements) return absl::OkStatus();
  return InvalidArgument("{}: {}parts: found {} elements in {} boxes, {} has {}", fields.file(), fields.path(), covered,
                         state.parts.size(), ToString(state.shape), elements);
}

absl::StatusOr<SavedState> ReadState(const Fields& fields) {
  SavedState state;
  ASSIGN_OR_RETURN(state.name, fields.Text("name"));
  ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  const std::optional<DType> known = ParseDType(dtype);
  if (!known) return fields.Unexpected("dtype", dtype, "an element type");
  state.dtype = *known;
  ASSIGN_OR_RETURN(state.shape, fields.Sizes("shape"));
  RETURN_IF_ERROR(fields.Each("parts", [&](const Fields& part) -> absl::Status {
    ASSIGN_OR_RETURN(SavedPart read, ReadPart(part));
    state.parts.push_back(std::move(read));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(CheckParts(fields, state));
  return state;
}

absl::StatusOr<SavedShard> ReadShard(const Fields& fields) {
  SavedShard shard;
  ASSIGN_OR_RETURN(shard.rank, ReadRank(fields));
  ASSIGN_OR_RETURN(shard.bytes, fields.Whole("bytes", kLargestSize));
  ASSIGN_OR_RETURN(shard.head_hash, fields.Text("head_xxh3"));
  return shard;
}

absl::StatusOr<LossSums> ReadSums(const Fields& fields) {
  LossSums sums;
  ASSIGN_OR_RETURN(sums.steps, fields.Whole("steps", kMostSteps));
  ASSIGN_OR_RETURN(sums.loss, fields.Number("loss"));
  RETURN_IF_ERROR(fields.Each("metrics", [&](const Fields& metric) -> absl::Status {
    ASSIGN_OR_RETURN(std::string name, metric.Text("name"));
    ASSIGN_OR_RETURN(const double sum, metric.Number("sum"));
    sums.metrics.emplace_back(std::move(name), sum);
    return absl::OkStatus();
  }));
  return sums;
}

// The format and its version come first: of a newer one nothing else is known.
absl::Status CheckForm(const std::string& file, const Fields& fields, const Json& json, std::string_view text) {
  ASSIGN_OR_RETURN(const std::string format, fields.Text("format"));
  if (format != kFormat)
    return InvalidArgument("{}: format: found {}, allowed is {}", file, Printable(format), kFormat);
  ASSIGN_OR_RETURN(const int64_t version, fields.Whole("version", kMostSteps));
  if (version != kRecordVersion) {
    absl::Status status = InvalidArgument("{}: found version {} of checkpoints; this program reads version {}", file,
                                          version, kRecordVersion);
    if (version > kRecordVersion) status.SetPayload(kNewerVersionPayload, {});
    return status;
  }
  ASSIGN_OR_RETURN(const std::string hash, fields.Text(kHash));
  if (Sealed(json) == text) return absl::OkStatus();
  return InvalidArgument("{}: found another text than its checksum {} is of: the file was damaged, or changed", file,
                         Printable(hash));
}

absl::StatusOr<CheckpointRecord> ReadFields(const Fields& fields, const Json& json) {
  CheckpointRecord record;
  ASSIGN_OR_RETURN(record.step, fields.Whole("step", kMostSteps));
  ASSIGN_OR_RETURN(const Json* const epoch, fields.Find("epoch"));
  ASSIGN_OR_RETURN(record.epoch, ReadSums(Fields(fields.file(), "epoch.", *epoch)));
  ASSIGN_OR_RETURN(record.strategy, fields.Text("strategy"));
  record.metadata = json.at("metadata").get<Metadata>();
  record.graph = json.at("graph").get<std::vector<std::string>>();
  RETURN_IF_ERROR(fields.Each("states", [&](const Fields& state) -> absl::Status {
    ASSIGN_OR_RETURN(SavedState read, ReadState(state));
    record.states.push_back(std::move(read));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(fields.Each("shards", [&](const Fields& shard) -> absl::Status {
    ASSIGN_OR_RETURN(SavedShard read, ReadShard(shard));
    record.shards.push_back(std::move(read));
    return absl::OkStatus();
  }));
  return record;
}

}  // namespace

std::string ShardFile(int rank) { return fmt::format("rank-{:05}.safetensors", rank); }

bool IsCheckpointFile(std::string_view name) {
  constexpr std::string_view kBegin = "rank-", kEnd = ".safetensors";
  if (name == kRecordFile) return true;
  if (name.size() < kBegin.size() + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::optional<int> rank = NumberOf<int>(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
  return rank && *rank >= 0 && name == ShardFile(*rank);
}

bool IsNewerVersion(const absl::Status& status) { return status.GetPayload(kNewerVersionPayload).has_value(); }

absl::StatusOr<std::string> FormatRecord(const std::string& file, const CheckpointRecord& record) {
  try {
    return Sealed(ToJson(record));
  } catch (const Json::exception& error) {
    return InvalidArgument("{}: a name or text is not UTF-8: {}", file, error.what());
  }
}

absl::StatusOr<CheckpointRecord> ParseRecord(const std::string& file, std::string_view text) {
  try {
    // What is too deep is left out, and so the checksum is that of another text.
    const Json json = Json::parse(text, [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; });
    const Fields fields(file, "", json);
    RETURN_IF_ERROR(CheckForm(file, fields, json, text));
    return ReadFields(fields, json);
  } catch (const Json::parse_error& error) {
    return InvalidArgument("{}: is no record of a checkpoint: offset {}: found what is no JSON in UTF-8", file,
                           error.byte);
  } catch (const Json::exception&) {
    return InvalidArgument("{}: is no record of a checkpoint: metadata and graph: allowed are texts", file);
  }
}

}  // namespace partita
