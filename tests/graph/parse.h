// The graph of a test's text.
#ifndef PARTITA_TESTS_GRAPH_PARSE_H_
#define PARTITA_TESTS_GRAPH_PARSE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/text/text.h"
#include "ops/registry.h"

namespace partita {

// A text that is refused fails the test; the graph is empty then.
inline Graph Parse(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseText(text, Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_PARSE_H_
