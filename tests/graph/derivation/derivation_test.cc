// The worked examples of the derivation as golden files: a forward graph and a strategy in, the program's training
// graph out, nothing joined, bytes exact. Each file has three sections: "== forward" (text form), "== strategy" (text
// proto), "== program".
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "graph/make_program.h"
#include "graph/proto_io/proto_io.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "runtime/base/files.h"

namespace partita {
namespace {

std::map<std::string, std::string> Sections(const std::string& text) {
  std::map<std::string, std::string> sections;
  std::string name, line;
  std::istringstream stream(text);
  while (std::getline(stream, line)) {
    if (line.rfind("== ", 0) == 0) {
      name = line.substr(3);
    } else {
      sections[name] += line + "\n";
    }
  }
  return sections;
}

class Derivation : public testing::TestWithParam<const char*> {};

TEST_P(Derivation, TextInTextOut) {
  const std::string path = std::string("tests/graph/derivation/") + GetParam() + ".txt";
  const absl::StatusOr<std::string> file = ReadFile(path, 1 << 20);
  ASSERT_TRUE(file.ok()) << file.status();
  std::map<std::string, std::string> sections = Sections(*file);

  absl::StatusOr<Graph> forward = ParseText(sections["forward"], Ops());
  ASSERT_TRUE(forward.ok()) << forward.status();
  absl::StatusOr<Strategy> strategy = ParseStrategy(sections["strategy"], ProtoFormat::kText, path);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const absl::StatusOr<Program> program = MakeProgram({GetParam(), *std::move(forward), {}, {}}, *strategy, Ops(),
                                                      {.fuse = false, .bucket_bytes = 0, .verify_passes = true});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ToText(program->graph(kTrainEntry), {.bytes = true}), sections["program"]);

  // What is printed is read back as the same graph.
  const absl::StatusOr<Graph> again = ParseText(sections["program"], Ops());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToText(*again, {.bytes = true}), sections["program"]);
}

INSTANTIATE_TEST_SUITE_P(Examples, Derivation,
                         testing::Values("data_parallel", "hybrid", "domain", "placement", "sharded_update", "classes",
                                         "ignored", "meshes"),
                         [](const auto& example) { return std::string(example.param); });

}  // namespace
}  // namespace partita
