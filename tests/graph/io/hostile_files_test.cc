// No file crashes the reader, and nothing that is cut short is taken for whole.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <random>

#include "graph/read/graph_assembler.h"
#include "runtime/base/files.h"
#include "tests/graph/io/graph_text.h"

namespace partita {
namespace {

constexpr ProtoFormat kFormats[] = {ProtoFormat::kText, ProtoFormat::kBinary};

// Calls `work` on a thread with a stack of 128 KiB.
void OnSmallStack(std::function<void()> work) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr size_t kStack = 1 << 20;  // instrumented frames are larger
#else
  constexpr size_t kStack = 128 << 10;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(HostileFiles, CutShortAtEveryByteIsRefused) {
  const absl::StatusOr<Model> model = ParseText(TinyGraph());
  ASSERT_TRUE(model.ok()) << model.status();
  for (ProtoFormat format : kFormats) {
    std::string bytes = PrintModel(*model, format);
    while (!bytes.empty() && bytes.back() == '\n' && format == ProtoFormat::kText) bytes.pop_back();
    for (size_t length = 0; length < bytes.size(); ++length) {
      const auto read = ParseModel(bytes.substr(0, length), format, "cut", Ops());
      EXPECT_NE(Refusal(read.status()), "ok") << length << " of " << bytes.size();
    }
  }
}

// Nobody can tell a strategy that was cut between two lines from a shorter one; inside of a line it is noticed.
TEST(HostileFiles, ATextFileThatEndsInsideALineIsRefused) {
  const std::string path = ::testing::TempDir() + "/cut_" + std::to_string(::getpid()) + ".pbtxt";
  const std::string whole =
      "schema_version: 1\nmesh { name: \"data\" size: 2 }\nops { pattern: \"*\" axes { axis: \"data\" split: "
      "\"samples\" } }\nbucket_bytes: 4096\nmicro_batches: 16\n";
  int taken = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(WriteFileAtomically(path, whole.substr(0, length)).ok());
    const absl::StatusOr<Strategy> cut = LoadStrategy(path);
    EXPECT_TRUE(!cut.ok() || whole[length - 1] == '\n') << length;
    taken += cut.ok();
  }
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(std::string(LoadStrategy(path).status().message()),
            path + ": its last line does not end; a text file ends with a newline (was it cut short?)");
  ASSERT_TRUE(WriteFileAtomically(path, whole).ok());
  EXPECT_TRUE(LoadStrategy(path).ok());
  ::unlink(path.c_str());
}

TEST(HostileFiles, RandomBytesAreRefused) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    for (ProtoFormat format : kFormats) {
      EXPECT_NE(Refusal(ParseModel(bytes, format, "random", Ops()).status()), "ok");
      EXPECT_NE(Refusal(ParseStrategy(bytes, format, "random").status()), "ok");
    }
  }
}

// Single bytes changed: most are refused, none may crash, and what is read is a checked graph.
TEST(HostileFiles, ChangedBytesAreRefusedOrMeanSomething) {
  std::mt19937 random(2);
  const Model model = *ParseText(TinyGraph());
  for (ProtoFormat format : kFormats) {
    const std::string whole = PrintModel(model, format);
    for (int trial = 0; trial < 4000; ++trial) {
      std::string bytes = whole;
      bytes[random() % bytes.size()] = static_cast<char>(random());
      const absl::StatusOr<Model> read = ParseModel(bytes, format, "changed", Ops());
      if (!read.ok()) {
        Refusal(read.status());
      } else {
        EXPECT_GE(read->graph.nodes().size(), 4u);
      }
    }
  }
}

std::string Nested(const std::string& open, const std::string& close, int depth) {
  std::string text = "schema_version: 1 ";
  for (int i = 0; i < depth; ++i) text += open;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(HostileFiles, NestedDeepIsRefusedOnASmallStack) {
  OnSmallStack([] {
    for (const char* open : {"nodes { ", "unknown { ", "nodes < ", "inputs [ ", "[x.y/z.W] { "}) {
      EXPECT_NE(Refusal(ParseText(Nested(open, "} ", 20000)).status()), "ok") << open;
      const auto strategy = ParseStrategy(Nested(open, "} ", 20000), ProtoFormat::kText, "deep");
      EXPECT_NE(Refusal(strategy.status()), "ok") << open;
    }
    // Binary: field 3 (nodes), group begins inside.
    const std::string groups = std::string("\x08\x01") + std::string(20000, '\x53');
    EXPECT_NE(Refusal(ParseModel(groups, ProtoFormat::kBinary, "deep", Ops()).status()), "ok");
  });
}

TEST(HostileFiles, OtherMessagesAreRefused) {
  const Strategy strategy = *ParseStrategy(
      "schema_version: 1 mesh { name: \"data\" size: 2 } ops { pattern: \"*\" axes { axis: \"data\" split: \"samples\" "
      "} }",
      ProtoFormat::kText, "strategy");
  const Model model = *ParseText(TinyGraph());
  for (ProtoFormat format : kFormats) {
    EXPECT_NE(Refusal(ParseModel(PrintStrategy(strategy, format), format, "other", Ops()).status()), "ok");
    EXPECT_NE(Refusal(ParseStrategy(PrintModel(model, format), format, "other").status()), "ok");
  }
  EXPECT_NE(Refusal(ParseModel(PrintModel(model, ProtoFormat::kText), ProtoFormat::kBinary, "text", Ops()).status()),
            "ok");
  EXPECT_NE(Refusal(ParseModel(PrintModel(model, ProtoFormat::kBinary), ProtoFormat::kText, "binary", Ops()).status()),
            "ok");
}

TEST(HostileFiles, NothingIsLogged) {
  ::testing::internal::CaptureStderr();
  ParseText("nodes {").IgnoreError();
  ParseText("nodes { name: \"\377\" }").IgnoreError();
  ParseModel("\x12\x02\xff\xfe", ProtoFormat::kBinary, "binary", Ops()).IgnoreError();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Time that this thread computed; what else runs on the machine does not count.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A chain of relu behind the logits, written backwards.
std::string Chain(int length, const std::string& first_input) {
  std::string nodes;
  for (int i = length; i-- > 0;) {
    const std::string input = i == 0 ? first_input : "r" + std::to_string(i - 1);
    nodes += "nodes { name: \"r" + std::to_string(i) + "\" op: \"relu\" inputs: \"" + input + "\" }\n";
  }
  return nodes;
}

TEST(LargeGraphs, HundredThousandNodesOnASmallStackInASecond) {
  const std::string text = WithNodes(Chain(100'000, "z"));
  OnSmallStack([&] {
    const double start = ThreadSeconds();
    const absl::StatusOr<Model> model = ParseText(text);
    const double seconds = ThreadSeconds() - start;
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.nodes().size(), 100'006u);
    std::printf("100,000 nodes: %.3f s\n", seconds);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(seconds, 1.0);
#endif
  });
}

TEST(LargeGraphs, MoreNodesThanAnybodyHasAreRefused) {
  EXPECT_EQ(Refusal(ParseText(WithNodes(Chain(249'995, "z"))).status()),
            "tiny.pbtxt: the graph has 250001 nodes; at most 250000 are allowed");
}

// A node without anything is two bytes of a file and a hundred of memory.
TEST(LargeGraphs, ManyEmptyNodesAreRefusedBeforeTheyAreMade) {
  std::string text(kHead), binary("\x08\x01");
  for (int i = 0; i < 5 << 20; ++i) {
    text += "nodes{}";
    binary += std::string("\x1a\0", 2);
  }
  const double start = ThreadSeconds();
  EXPECT_EQ(Refusal(ParseText(text).status()),
            "tiny.pbtxt: has more than 4194304 fields and elements of lists; at most so many are allowed");
  EXPECT_EQ(Refusal(ParseModel(binary, ProtoFormat::kBinary, "f", Ops()).status()),
            "f: has more than 4194304 fields and elements of lists; at most so many are allowed");
  std::printf("5 Mi empty nodes: %.3f s\n", ThreadSeconds() - start);
}

TEST(LargeGraphs, ACycleOfHundredThousandNodesIsNamedShort) {
  OnSmallStack([] {
    const std::string refusal = Refusal(ParseText(WithNodes(Chain(100'000, "r99999"))).status());
    EXPECT_NE(refusal.find("cycle of 100000 nodes"), std::string::npos) << refusal;
  });
}

}  // namespace
}  // namespace partita
