#include "tools/models/gnmt_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/read/model_entries.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// One place of the decoder, in nodes of their own; its parameters are those of the graph that is trained.
class DecoderStep {
 public:
  explicit DecoderStep(const GnmtOptions& options) : options_(options) {
    const std::string last = Input("last_words", DType::kI32, {});
    Input("keys", options.dtype, {options.source_places, options.units});
    Input("encoded", options.dtype, {options.source_places, options.units});
    Input("places", options.dtype, {options.source_places, options.source_places});
    const std::string word = Add("word", "embedding", {"embedding/table", last}, {{"padding_row", int64_t{0}}});
    std::string x = Lstm("decoder1", word);
    const std::string context = Attention(x);
    for (int64_t layer = 2; layer <= options.layers; ++layer) {
      const std::string name = fmt::format("decoder{}", layer);
      const std::string y = Lstm(name, Add(name + "/both", "concat", {x, context}, {{"axis", int64_t{1}}}));
      x = layer == 2 ? y : Add(name + "/residual", "add", {y, x});
    }
    const std::string products = Add("classifier/matmul", "matmul", {x, "classifier/matmul/weights"});
    const std::string logits = Add("classifier/bias", "bias", {products, "classifier/bias/values"});
    results_.push_back({Add("written", "log_softmax", {logits}), "log_probabilities"});
  }

  std::vector<NodeDescription> nodes() && { return std::move(nodes_); }
  ModelEntry entry() const { return {"step", {}, results_, {}}; }

 private:
  std::string Add(const std::string& name, const std::string& op, std::vector<std::string> inputs,
                  Attributes attributes = {}) {
    nodes_.push_back({"step/" + name, op, std::move(inputs), std::move(attributes)});
    return nodes_.back().name;
  }

  std::string Input(const std::string& field, DType dtype, Shape row) {
    Shape shape = {options_.batch};
    for (const int64_t size : row) shape.push_back(size);
    return Add(field + "/before", "input", {},
               {{"dtype", std::string(Name(dtype))}, {"shape", std::move(shape)}, {"field", field}});
  }

  void Report(const std::string& value, const std::string& name) { results_.push_back({value, name}); }

  // Four gates lie side by side for each unit.
  std::string Gate(const std::string& lstm, const std::string& gates, int64_t which, const std::string& activation) {
    const std::string name = fmt::format("{}/gate{}", lstm, which);
    const std::string cut =
        Add(name + "/of_units", "slice", {gates}, {{"begin", Shape{0, 0, which}}, {"size", Shape{-1, -1, 1}}});
    return Add(name, activation, {Add(name + "/flat", "reshape", {cut}, {{"shape", Shape{-1, options_.units}}})});
  }

  std::string Lstm(const std::string& name, const std::string& x) {
    const std::string h_before = Input(name + "/h", options_.dtype, {options_.units});
    const std::string c_before = Input(name + "/c", options_.dtype, {options_.units});
    const std::string product = Add(name + "/input", "matmul", {x, name + "/input/weights"});
    const std::string sum = Add(name + "/bias", "bias", {product, name + "/bias/values"});
    const std::string more = Add(name + "/recurrent_bias", "bias", {sum, name + "/recurrent_bias/values"});
    const std::string state = Add(name + "/recurrent", "matmul", {h_before, name + "/recurrent"});
    const std::string gates = Add(name + "/gates", "reshape", {Add(name + "/both_sums", "add", {more, state})},
                                  {{"shape", Shape{-1, options_.units, 4}}});
    const std::string kept = Add(name + "/kept", "mul", {Gate(name, gates, 1, "sigmoid"), c_before});
    const std::string fresh =
        Add(name + "/new", "mul", {Gate(name, gates, 0, "sigmoid"), Gate(name, gates, 2, "tanh")});
    const std::string c = Add(name + "/c", "add", {kept, fresh});
    const std::string h =
        Add(name + "/h", "mul", {Gate(name, gates, 3, "sigmoid"), Add(name + "/c/tanh", "tanh", {c})});
    Report(h, name + "/h");
    Report(c, name + "/c");
    return h;
  }

  // Beside the encoder's places it reads which place each is, so that what it reads is its own probabilities.
  std::string Attention(const std::string& asking) {
    const int64_t units = options_.units;
    const std::string query = Add("attention/query", "matmul", {asking, "attention/query/weights"});
    const std::string one = Add("attention/query/place", "reshape", {query}, {{"shape", Shape{-1, 1, units}}});
    const std::string values =
        Add("attention/values", "concat", {"step/encoded/before", "step/places/before"}, {{"axis", int64_t{2}}});
    const std::string read =
        Add("attention", "attention",
            {one, "step/keys/before", values, "attention/v", "attention/gain", "attention/bias", "source_lengths"});
    Report(
        Add("attention/probabilities", "slice", {read}, {{"begin", Shape{0, 0, units}}, {"size", Shape{-1, -1, -1}}}),
        "attention");
    const std::string context =
        Add("attention/context", "slice", {read}, {{"begin", Shape{0, 0, 0}}, {"size", Shape{-1, -1, units}}});
    return Add("attention/context/flat", "reshape", {context}, {{"shape", Shape{-1, units}}});
  }

  const GnmtOptions& options_;
  std::vector<NodeDescription> nodes_;
  std::vector<ModelEntry::Result> results_;
};

ModelEntry Encoder(const GnmtOptions& options) {
  const std::string last = fmt::format("encoder{}{}", options.layers, options.layers > 2 ? "/residual" : "");
  return {"encode", {}, {{last, "encoded"}, {"attention/keys", "keys"}}, {}};
}

ModelEntry Bucket(const GnmtOptions& options, int64_t bucket, int64_t buckets) {
  const auto share = [&](int64_t places) { return std::max<int64_t>(1, places * bucket / buckets); };
  const Shape source = {share(options.source_places)}, target = {share(options.target_places)};
  return {fmt::format("bucket{}", bucket),
          {{"source", source}, {"ids", target}, {"targets", target}, {"weights", target}},
          {},
          {}};
}

}  // namespace

absl::Status AddGnmtEntries(const GnmtOptions& options, int64_t buckets, const OpRegistry& registry, Model& model) {
  const int64_t most = std::min(options.source_places, options.target_places);
  if (buckets < 1 || buckets > most) {
    return InvalidArgument("buckets is {}; expected 1 to {}, the words of the shorter sentence", buckets, most);
  }
  std::vector<ModelEntry> entries;
  for (int64_t bucket = 1; bucket < buckets; ++bucket) entries.push_back(Bucket(options, bucket, buckets));
  DecoderStep step(options);
  entries.push_back(Encoder(options));
  entries.push_back(step.entry());
  return AddEntries(std::move(entries), std::move(step).nodes(), registry, model);
}

}  // namespace partita
