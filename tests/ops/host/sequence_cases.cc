// Of the table of nodes that all host kernels are run on: those of sequences and of tables that are read by ids.
#include "tests/ops/host/case_table.h"

namespace partita {

// Of several places in each sample.
void AddSequenceProducts(CaseTable& table) {
  for (const bool w : {false, true}) {
    table.Add("matmul", {{"transpose_w", w}}, {F32({3, 11, 13}), F32(w ? Shape{10, 13} : Shape{13, 10})});
  }
  const TensorType x = F32({3, 11, 13}), dy = F32({3, 11, 10});
  table.Add("matmul", {{"transpose_x", true}}, {x, dy});
  table.Add("matmul_epilogue", {{"activation", "relu"}}, {x, F32({13, 10}), F32({10})});
  table.Add("matmul_bias_grad", {{"transpose_x", true}, {"bias_of", std::string("w")}}, {x, dy});
  table.Add("bias", {}, {dy, F32({10})});
  table.Add("bias_grad", {}, {dy});
}

// Of one leading dimension and of more; of matrices that are vectors; the last are worth several threads.
void AddBatchProducts(CaseTable& table) {
  struct Sizes {
    Shape leading;
    int64_t m, n, k;
  };
  const std::vector<Sizes> all = {{{1}, 1, 1, 1},        {{3}, 7, 10, 13},      {{2, 3}, 5, 9, 1},
                                  {{2, 1, 3}, 1, 6, 17}, {{2, 2}, 33, 47, 300}, {{70}, 9, 33, 20}};
  const auto matrices = [](Shape leading, int64_t rows, int64_t columns, bool transposed) {
    leading.push_back(transposed ? columns : rows);
    leading.push_back(transposed ? rows : columns);
    return F32(std::move(leading));
  };
  for (const bool x : {false, true}) {
    for (const bool y : {false, true}) {
      for (const auto& [leading, m, n, k] : all) {
        table.Add("batch_matmul", {{"transpose_x", x}, {"transpose_y", y}},
                  {matrices(leading, m, k, x), matrices(leading, k, n, y)});
      }
    }
  }
}

// Of a bias of positions, of a mask of samples, of numbers apart.
void AddExpansions(CaseTable& table) {
  table.Add("expand_like", {{"axes", IntList{0}}}, {F32({5, 11, 13}), F32({11, 13})});
  table.Add("expand_like", {{"axes", IntList{1, 2}}}, {F32({5, 3, 11, 33}), F32({5, 33})});
  table.Add("expand_like", {{"axes", IntList{0, 2}}}, {F32({5, 3, 11, 33}), F32({3, 33})});
  table.Add("expand_like", {{"axes", IntList{1}}}, {F32({70, 65}), F32({70})});
}

// One matrix for several products: for all, for heads, for samples, crosswise.
void AddSharedProducts(CaseTable& table) {
  const std::vector<std::pair<Shape, Shape>> all = {{{3, 7, 13}, {13, 10}},
                                                    {{2, 3, 7, 13}, {2, 1, 13, 10}},
                                                    {{3, 7, 13}, {2, 3, 13, 10}},
                                                    {{4, 1, 7, 13}, {1, 3, 13, 10}},
                                                    {{2, 1, 3, 70, 20}, {4, 1, 20, 33}}};
  const auto turned = [](Shape shape) {
    std::swap(shape[shape.size() - 2], shape.back());
    return F32(std::move(shape));
  };
  for (const auto& [x, y] : all) {
    table.Add("batch_matmul", {}, {F32(x), F32(y)});
    table.Add("batch_matmul", {{"transpose_x", true}, {"transpose_y", true}}, {turned(x), turned(y)});
  }
}

// With everything that may be absent, and without; sizes that fill no vector and no tile.
void AddRecurrences(CaseTable& table) {
  struct Sizes {
    int64_t samples, places, units, outputs;
  };
  // The last: of several tiles of a GPU's, in vectors.
  const std::vector<Sizes> sizes = {{1, 1, 1, 1},   {3, 4, 5, 5},   {2, 5, 7, 3},
                                    {5, 4, 40, 40}, {9, 4, 33, 14}, {65, 4, 72, 72}};
  for (const auto& [samples, places, units, outputs] : sizes) {
    for (const bool all : {false, true}) {
      const auto given = [&](TensorType type) { return all ? std::optional(std::move(type)) : std::nullopt; };
      const TensorType g = F32({samples, places, 4 * units}), h = F32({samples, places, outputs});
      const TensorType c = F32({samples, places, units}), w = F32({outputs, 4 * units});
      const TensorType projection = F32({units, outputs});
      const Types begin = {given(F32({samples, outputs})), given(F32({samples, units})),
                           all && places > 3 ? std::optional(I32({samples})) : std::nullopt};
      Types forward = {g, w, outputs == units ? std::nullopt : std::optional(projection)}, back = {h, g, c, h, w};
      forward.insert(forward.end(), begin.begin(), begin.end());
      back.insert(back.end(), begin.begin(), begin.end());
      for (const bool reverse : {false, true}) {
        table.Add("lstm_steps", {{"reverse", reverse}, {"forget_bias", all ? 1.0 : 0.0}}, forward);
        if (outputs == units) table.Add("lstm_steps_grad", {{"reverse", reverse}}, back);
        Types projected = back;
        projected.push_back(projection);
        table.Add("lstm_projected_steps_grad", {{"reverse", reverse}}, projected);
      }
    }
  }
}

// With lengths and without; one of everything, and sizes that fill no vector.
void AddAttention(CaseTable& table) {
  struct Sizes {
    int64_t samples, queries, places, units, channels;
  };
  const std::vector<Sizes> sizes = {{1, 1, 1, 1, 1}, {3, 2, 5, 4, 3}, {2, 7, 11, 37, 19}, {5, 3, 6, 130, 70}};
  for (const auto& [samples, queries, places, units, channels] : sizes) {
    const TensorType query = F32({samples, queries, units}), keys = F32({samples, places, units});
    const TensorType values = F32({samples, places, channels}), v = F32({units}), gain = F32({1});
    table.Add("attention_context", {}, {query, keys, values, v, gain, v, std::nullopt});
    if (places > 4) table.Add("attention_context", {}, {query, keys, values, v, gain, v, I32({samples})});
    table.Add("attention_context_grad", {},
              {F32({samples, queries, channels}), F32({samples, queries, places}), query, keys, values, v, gain, v});
  }
}

// Groups of one head and of several; queries, keys and channels of one step or tile of a GPU's block and of more.
void AddDotProductAttention(CaseTable& table) {
  struct Sizes {
    int64_t samples, queries, keys, heads, groups, depth, channels;
    bool has_lengths;
  };
  const std::vector<Sizes> sizes = {{3, 5, 7, 4, 2, 3, 5, true},    {1, 1, 1, 1, 1, 1, 1, false},
                                    {1, 66, 67, 1, 1, 2, 3, false}, {1, 3, 5, 2, 1, 131, 3, false},
                                    {1, 3, 5, 2, 2, 3, 131, true},  {2, 70, 130, 2, 1, 37, 19, true}};
  for (const Sizes& s : sizes) {
    const TensorType query = F32({s.samples, s.queries, s.heads, s.depth});
    const TensorType keys = F32({s.samples, s.keys, s.groups, s.depth});
    const TensorType values = F32({s.samples, s.keys, s.groups, s.channels});
    const TensorType output = F32({s.samples, s.queries, s.heads, s.channels});
    const TensorType lse = F32({s.samples, s.heads, s.queries});
    const auto lengths = s.has_lengths ? std::optional(I32({s.samples})) : std::nullopt;
    for (const bool causal : {false, true}) {
      const Attributes attributes{{"causal", causal}, {"scale", causal ? 0.25 : 0.0}};
      const std::string op = "scaled_dot_product_attention";
      const std::optional<TensorType> no;
      table.Add(op + "_forward", attributes, {query, keys, values, lengths, no, no});
      table.Add(op + "_grad", attributes, {output, output, lse, query, keys, values, lengths, no, no});
      Attributes dropping = attributes;
      dropping.Set("dropout_rate", 0.3);
      dropping.Set("key", std::string("forward"));
      dropping.Set("first_sample", int64_t{5});
      table.Add(op + "_forward", dropping, {query, keys, values, lengths, no, I32({})});
      table.Add(op + "_grad", dropping, {output, output, lse, query, keys, values, lengths, no, I32({})});
      const std::vector<Shape> biases = {{s.samples, s.heads, s.queries, s.keys},
                                         {s.heads, s.queries, s.keys},
                                         {s.samples, 1, 1, s.keys},
                                         {s.heads, s.queries, 1}};
      for (const Shape& shape : biases) {
        const TensorType bias = F32(shape);
        table.Add(op + "_forward", attributes, {query, keys, values, lengths, bias, no});
        table.Add(op + "_grad", attributes, {output, output, lse, query, keys, values, lengths, bias, no});
        table.Add(op + "_bias_grad", attributes, {output, output, lse, query, keys, values, lengths, bias, no});
        table.Add(op + "_bias_grad", dropping, {output, output, lse, query, keys, values, lengths, bias, I32({})});
      }
    }
  }
}

// Logits of several places in each sample.
void AddSequenceLosses(CaseTable& table) {
  for (const int64_t classes : {6, 37}) {
    const TensorType logits = F32({3, 5, classes}), labels = I32({3, 5}), weights = F32({3});
    table.Add("softmax", {}, {logits});
    table.Add("log_softmax", {}, {logits});
    table.Add("accuracy", {}, {logits, labels, std::nullopt});
    table.Add("accuracy", {{"top", int64_t{4}}, {"batch", int64_t{9}}}, {logits, labels, weights});
    const Attributes smoothed{{"label_smoothing", 0.1}, {"batch", int64_t{9}}};
    table.Add("softmax_cross_entropy", smoothed, {logits, labels, weights});
    table.Add("softmax_cross_entropy_grad", smoothed, {logits, labels, weights, F32({})});
    table.Add("cross_entropy", smoothed, {logits, labels, weights, F32({3, 5}), F32({3, 5})});
    table.Add("cross_entropy_logits_grad", smoothed, {logits, labels, weights, F32({})});
    const TensorType of_places = F32({3, 5});
    const Attributes summed{{"label_smoothing", 0.1}, {"reduction", "sum"}};
    table.Add("accuracy", {{"reduction", "sum"}}, {logits, labels, of_places});
    table.Add("softmax_cross_entropy", summed, {logits, labels, of_places});
    table.Add("softmax_cross_entropy_grad", summed, {logits, labels, of_places, F32({})});
    table.Add("cross_entropy", summed, {logits, labels, of_places, of_places, of_places});
    table.Add("cross_entropy_logits_grad", summed, {logits, labels, of_places, F32({})});
  }
  const TensorType labels = I32({3, 5});
  table.Add("cross_entropy_sum_grad", {{"reduction", "sum"}}, {F32({3, 5}), labels, F32({3, 5}), F32({})});
  table.Add("count_labels", {{"ignore_index", int64_t{1}}, {"dtype", std::string("f32")}}, {labels, F32({3})});
  table.Add("row_maximum", {}, {F32({3, 5, 6})});
  table.Add("cross_entropy_sum_grad", {{"batch", int64_t{9}}}, {F32({3, 5}), labels, F32({3}), F32({})});
}

// Ids that choose few rows often, and many rows not at all; some that read zeros.
void AddRows(CaseTable& table) {
  struct Sizes {
    int64_t rows, channels;
    Shape ids;
  };
  for (const Sizes& s : std::vector<Sizes>{{7, 1, {1}}, {5, 24, {37}}, {301, 7, {4, 9}}, {70, 260, {3, 50}}}) {
    Shape y = s.ids;
    y.push_back(s.channels);
    for (const int64_t padding : {-1, 3}) {
      table.Add("embedding", {{"padding_row", padding}}, {F32({s.rows, s.channels}), I32(s.ids)});
      table.Add("embedding_grad", {{"padding_row", padding}, {"rows", s.rows}}, {std::nullopt, I32(s.ids), F32(y)});
    }
  }
}

void AddMergedRows(CaseTable& table) {
  table.Add("merge_rows", {{"padding_rows", IntList{-1}}}, {I32({1}), F32({1, 1})});
  table.Add("merge_rows", {{"padding_rows", IntList{2}}}, {I32({3, 13}), F32({3, 13, 24})});
  table.Add("merge_rows", {{"padding_rows", IntList{-1, 0, 3}}},
            {I32({9}), F32({9, 260}), I32({2, 4}), F32({2, 4, 260}), I32({33}), F32({33, 260})});
  for (const auto& [rows, channels, count] :
       std::vector<std::array<int64_t, 3>>{{5, 1, 7}, {40, 24, 21}, {301, 260, 50}}) {
    const TensorType w = F32({rows, channels}), ids = I32({count}), g = F32({count, channels}), scalar = F32({});
    for (const std::optional<TensorType>& clip : {std::optional<TensorType>(), std::optional(scalar)}) {
      table.Add("sgd_rows", {{"rate_factor", 0.7}}, {w, ids, g, scalar, I32({}), clip});
      table.Add("adagrad_rows", {{"epsilon", 1e-3}}, {w, ids, g, w, scalar, I32({}), clip});
      table.Add("adam_rows", {{"epsilon", 1e-3}}, {w, ids, g, w, w, scalar, I32({}), clip, I32({})});
    }
  }
}

// Few samples and many, of which some are labels.
void AddSampledSoftmax(CaseTable& table) {
  table.Add("log_uniform_ids", {{"samples", int64_t{1}}, {"classes", int64_t{2}}, {"key", "loss"}}, {I32({})});
  table.Add("log_uniform_ids", {{"samples", int64_t{40}}, {"classes", int64_t{90}}, {"key", "loss"}}, {I32({})});
  for (const int64_t samples : {3, 301}) {
    const Attributes classes{{"classes", int64_t{700}}, {"batch", int64_t{5}}};
    const Attributes summed{{"classes", int64_t{700}}, {"reduction", "sum"}};
    const TensorType own = F32({3, 4}), logits = F32({3, 4, samples}), labels = I32({3, 4}), ids = I32({samples});
    table.Add("sampled_cross_entropy", classes, {own, logits, labels, ids, I32({}), F32({3})});
    table.Add("sampled_cross_entropy", summed, {own, logits, labels, ids, I32({}), own});
    table.Add("sampled_cross_entropy_grad", classes, {own, logits, labels, ids, I32({}), F32({3}), F32({})});
    table.Add("sampled_cross_entropy_grad", summed, {own, logits, labels, ids, I32({}), std::nullopt, F32({})});
  }
}

}  // namespace partita
