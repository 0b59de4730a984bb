#include "runtime/base/exhaustion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {
namespace {

TEST(OrExhausted, PassesOnWhatIsReturned) {
  EXPECT_TRUE(OrExhausted("work", [] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(*OrExhausted("work", [] { return absl::StatusOr<int>(7); }), 7);
  EXPECT_EQ(OrExhausted("work", [] { return absl::InvalidArgumentError("wrong"); }),
            absl::InvalidArgumentError("wrong"));
}

TEST(OrExhausted, AnExceptionForWantOfSomethingIsAnError) {
  const absl::Status memory = OrExhausted("work", []() -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(memory, absl::ResourceExhaustedError("work: there is no more memory"));
  const absl::Status length = OrExhausted("work", []() -> absl::Status {
    std::vector<char> bytes;
    bytes.reserve(bytes.max_size() + size_t{1});
    return absl::OkStatus();
  });
  EXPECT_EQ(length, absl::ResourceExhaustedError("work: there is no memory for so much at once"));
  const auto thread = OrExhausted("work", []() -> absl::StatusOr<int> {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "thread");
  });
  EXPECT_EQ(thread.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(
      std::string(thread.status().message()).find("work: cannot start a thread: Resource temporarily unavailable; "), 0)
      << thread.status();
  const auto device = OrExhausted(
      "work", []() -> absl::Status { throw std::system_error(std::make_error_code(std::errc::io_error), "read"); });
  EXPECT_EQ(device, absl::ResourceExhaustedError("work: the system refuses: read: Input/output error"));
}

TEST(Descriptors, AreToldByErrno) {
  EXPECT_TRUE(LacksDescriptors(EMFILE));
  EXPECT_TRUE(LacksDescriptors(ENFILE));
  EXPECT_FALSE(LacksDescriptors(ENOENT));
  EXPECT_EQ(NoDescriptors("a.npy: cannot open"),
            absl::ResourceExhaustedError("a.npy: cannot open: there are no more descriptors; raise the limit (ulimit "
                                         "-n)"));
}

TEST(OrExhausted, OtherExceptionsAreBugsAndNobodyHidesThem) {
  EXPECT_THROW(OrExhausted("work", []() -> absl::Status { throw std::out_of_range("bug"); }).IgnoreError(),
               std::out_of_range);
}

}  // namespace
}  // namespace partita
