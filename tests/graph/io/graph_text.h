// A small valid graph in text form, and the means to break it at one place.
#ifndef PARTITA_TESTS_GRAPH_IO_GRAPH_TEXT_H_
#define PARTITA_TESTS_GRAPH_IO_GRAPH_TEXT_H_

#include <gtest/gtest.h>

#include <string>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"

namespace partita {

inline constexpr char kHead[] = "schema_version: 1\nname: \"tiny\"\n";
inline constexpr char kNodes[] = R"(
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [4, 3] } } }
nodes { name: "y" op: "input" attributes { name: "dtype" text: "i32" }
        attributes { name: "shape" integers { values: [4] } } }
nodes { name: "w" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
        attributes { name: "initializer" text: "he_normal" } }
nodes { name: "z" op: "matmul" inputs: "x" inputs: "w" }
nodes { name: "loss" op: "softmax_cross_entropy" inputs: "z" inputs: "y" }
nodes { name: "accuracy" op: "accuracy" inputs: "z" inputs: "y" }
)";
inline constexpr char kTail[] = R"(
loss: "loss"
metrics: "accuracy"
optimizer { momentum: 0.9 }
learning_rate { schedule: "constant" base: 0.1 }
)";

inline std::string TinyGraph() { return std::string(kHead) + kNodes + kTail; }

// The tiny graph with the first occurrence of `from` replaced.
inline std::string Broken(const std::string& from, const std::string& to) {
  std::string text = TinyGraph();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The tiny graph with further nodes.
inline std::string WithNodes(const std::string& nodes) { return std::string(kHead) + kNodes + nodes + kTail; }

inline absl::StatusOr<Model> ParseText(const std::string& text) {
  return ParseModel(text, ProtoFormat::kText, "tiny.pbtxt", Ops());
}

// "ok", or the message; checks what holds for every refusal.
inline std::string Refusal(const absl::Status& status) {
  if (status.ok()) return "ok";
  const std::string message(status.message());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
  EXPECT_LT(message.size(), 1000u) << message;
  for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << message;
  return message;
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_IO_GRAPH_TEXT_H_
