// What stands behind the handles of the C interface, and how its calls end: in an error or in none.
#ifndef PARTITA_PARTITA_C_OBJECTS_H_
#define PARTITA_PARTITA_C_OBJECTS_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "partita/c/live.h"
#include "partita/c/partita.h"
#include "partita/partita.h"

struct partita_error {
  partita_code code = PARTITA_OK;
  std::string message;
};

struct partita_model {
  explicit partita_model(partita::api::Model read) : model(std::move(read)), fields(model.fields()) {}

  partita::api::Model model;
  std::vector<partita::api::Field> fields;
};

struct partita_plan {
  explicit partita_plan(partita::api::Plan made) : plan(std::move(made)) {}

  partita::api::Plan plan;
  std::mutex mutex;                                 // of the texts
  std::optional<std::string> json, page, strategy;  // that a call has returned
};

struct partita_values {
  explicit partita_values(std::map<std::string, partita::api::Tensor> named) : tensors(named.begin(), named.end()) {}

  std::vector<std::pair<std::string, partita::api::Tensor>> tensors;
};

namespace partita::c {

// Metrics as the C interface has them: two arrays, and names that end with NUL.
class MetricArrays {
 public:
  MetricArrays() = default;
  explicit MetricArrays(const std::map<std::string, double>& metrics) : metrics_(metrics) {
    for (const auto& [name, value] : metrics_) {
      names_.push_back(name.c_str());
      values_.push_back(value);
    }
  }
  MetricArrays(const MetricArrays&) = delete;
  MetricArrays& operator=(const MetricArrays&) = delete;
  MetricArrays(MetricArrays&&) noexcept = default;  // the nodes of a map stay where they are
  MetricArrays& operator=(MetricArrays&&) noexcept = default;

  size_t count() const { return names_.size(); }
  const char* const* names() const { return names_.data(); }
  const double* values() const { return values_.data(); }

 private:
  std::map<std::string, double> metrics_;
  std::vector<const char*> names_;
  std::vector<double> values_;
};

}  // namespace partita::c

struct partita_session {
  explicit partita_session(partita::api::Session started) : session(std::move(started)), states(session.states()) {}

  partita::api::Session session;
  std::atomic<bool> busy{false};  // a call is running
  std::vector<std::string> states;
  // What the last calls returned pointers into.
  partita::c::MetricArrays metrics;
  partita::api::Preprocessing preprocessing;
  std::vector<const char*> class_names;
};

namespace partita::c {

inline api::Error Invalid(std::string message) { return {api::ErrorCode::kInvalidArgument, std::move(message)}; }

// Null: none. If there is no memory for an error, one that was made before.
partita_error* ErrorOf(const api::Outcome& outcome);

// What the call ends with, also if it throws.
template <typename Body>
partita_error* Call(const Body& body) {
  try {
    return ErrorOf(body());
  } catch (const std::bad_alloc&) {
    return ErrorOf(api::Error{api::ErrorCode::kDoesNotFit, "there is not enough memory"});
  } catch (const std::exception& error) {
    return ErrorOf(api::Error{api::ErrorCode::kInternal, error.what()});
  }
}

// A call of an object, by the address that the caller has.
template <typename T, typename Body>
partita_error* CallOf(const T* address, const char* what, const Body& body) {
  return Call([&]() -> api::Outcome {
    const std::shared_ptr<T> object = Live<T>::Find(address);
    if (object != nullptr) return body(*object);
    if (address == nullptr) return Invalid(std::string(what) + " is NULL");
    return api::Error{api::ErrorCode::kMisuse,
                      std::string("there is no such ") + what + "; it was freed, or never made"};
  });
}

// A call of a session, which runs one at a time.
template <typename Body>
partita_error* CallInTurn(const partita_session* address, const Body& body) {
  return CallOf(address, "session", [&](partita_session& session) -> api::Outcome {
    if (session.busy.exchange(true)) {
      return api::Error{api::ErrorCode::kMisuse,
                        "another call of this session is running; a session runs one call at a time"};
    }
    const auto end = [](partita_session* ended) { ended->busy = false; };
    const std::unique_ptr<partita_session, decltype(end)> running(&session, end);
    return body(session);
  });
}

// The fields of a caller's batch, by name.
api::Outcome FieldsOf(const partita_tensor* batch, size_t count, api::Fields& fields);
api::Outcome ViewOf(const partita_tensor& tensor, const char* name, api::View& view);
// A struct that points to its arguments.
partita_tensor TensorOf(const std::string& name, api::Type type, const std::vector<int64_t>& shape, const void* data);

}  // namespace partita::c

#endif  // PARTITA_PARTITA_C_OBJECTS_H_
