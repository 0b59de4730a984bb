// Statuses in tests: what is not ok is shown with its message.
#ifndef PARTITA_TESTS_TESTING_ASSERT_OK_H_
#define PARTITA_TESTS_TESTING_ASSERT_OK_H_

#include <gtest/gtest.h>

#include <utility>

#include "absl/status/statusor.h"
#include "runtime/base/status.h"

#define ASSERT_OK(expression)                  \
  do {                                         \
    const absl::Status status_ = (expression); \
    ASSERT_TRUE(status_.ok()) << status_;      \
  } while (false)
#define EXPECT_OK(expression)                  \
  do {                                         \
    const absl::Status status_ = (expression); \
    EXPECT_TRUE(status_.ok()) << status_;      \
  } while (false)

// ASSERT_OK_AND_ASSIGN(const Graph graph, ParseText(text, Ops())): declares `graph`; the test ends where it is an
// error.
#define ASSERT_OK_AND_ASSIGN(declaration, expression) \
  ASSERT_OK_AND_ASSIGN_TO(PARTITA_CONCATENATE(or_, __LINE__), declaration, expression)
#define ASSERT_OK_AND_ASSIGN_TO(temporary, declaration, expression) \
  auto temporary = (expression);                                    \
  ASSERT_TRUE(temporary.ok()) << temporary.status();                \
  declaration = *std::move(temporary)

#endif  // PARTITA_TESTS_TESTING_ASSERT_OK_H_
