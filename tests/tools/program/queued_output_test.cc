#include "tools/program/queued_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace partita {
namespace {

using std::chrono::milliseconds;

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  std::string Read(size_t count) const {
    std::string text(count, ' ');
    for (size_t begin = 0; begin < count;) {
      const ssize_t got = read(ends[0], text.data() + begin, count - begin);
      if (got <= 0) return text.substr(0, begin);
      begin += static_cast<size_t>(got);
    }
    return text;
  }
  int ends[2];
};

// A process without room for another thread's stack says what it has to say. The first test, as a thread that has ended
// leaves its stack to the next.
TEST(QueuedOutput, WritesWithoutAThread) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs room of its own";
#endif
  const Pipe pipe;
  const pid_t child = fork();
  if (child == 0) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t space = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (1 << 20);
    const struct rlimit limit = {space, space};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    QueuedOutput out(pipe.ends[1]);
    out << "one" << std::flush << " two";
    _exit(out.Finish(std::nullopt).ok() ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(pipe.Read(7), "one two");
}

TEST(QueuedOutput, WritesInOrder) {
  const Pipe pipe;
  QueuedOutput out(pipe.ends[1]);
  out << "one " << 2 << std::flush;
  EXPECT_EQ(pipe.Read(5), "one 2");  // a flush is enough
  out << " three" << std::endl << "four";
  EXPECT_TRUE(out.Finish(std::nullopt).ok());
  EXPECT_EQ(pipe.Read(11), " three\nfour");
}

TEST(QueuedOutput, GoesOnWithoutAReader) {
  const Pipe pipe;
  const std::string much(4 * static_cast<size_t>(fcntl(pipe.ends[1], F_GETPIPE_SZ)), 'x');
  QueuedOutput out(pipe.ends[1]);
  for (int i = 0; i < 100; ++i) out << i % 10 << much << std::flush;
  EXPECT_TRUE(out.good());
  EXPECT_EQ(std::string(out.Finish(milliseconds(10)).message()), "nobody reads it");
  std::thread reader([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(pipe.Read(1 + much.size()), std::to_string(i % 10) + much);
  });
  EXPECT_TRUE(out.Finish(std::nullopt).ok());
  reader.join();
}

TEST(QueuedOutput, SaysWhyItCannotWrite) {
  const int full = open("/dev/full", O_WRONLY);
  {
    QueuedOutput out(full);
    out << "lost";
    const absl::Status status = out.Finish(std::nullopt);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(std::string(status.message()), "No space left on device");
    out << "too" << std::flush;
    EXPECT_FALSE(out.good());
  }
  close(full);
}

// Whoever is held up for ever holds up nobody else.
TEST(QueuedOutput, CanBeGivenUp) {
  const Pipe pipe;
  const std::string much(2 * static_cast<size_t>(fcntl(pipe.ends[1], F_GETPIPE_SZ)), 'x');
  {
    QueuedOutput out(pipe.ends[1]);
    out << much << std::flush;
  }
  EXPECT_EQ(pipe.Read(much.size()), much);  // what its thread had taken
}

}  // namespace
}  // namespace partita
