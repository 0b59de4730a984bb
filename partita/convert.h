// Between what callers of the library see and what the runtime speaks.
#ifndef PARTITA_PARTITA_CONVERT_H_
#define PARTITA_PARTITA_CONVERT_H_

#include <exception>
#include <new>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/attributes.h"
#include "graph/value/dtype.h"
#include "partita/partita.h"
#include "runtime/api/rank/gather.h"

namespace partita::api {

// Not of an OK status.
Error ErrorOf(const absl::Status& status);
Outcome OutcomeOf(const absl::Status& status);

absl::StatusOr<Type> TypeOf(DType dtype);  // kInvalidArgument: bf16, which no caller has
ConstTensor ConstTensorOf(const View& view);
absl::StatusOr<Tensor> TensorOf(const HostTensor& tensor);

partita::Attributes AttributesOf(const Attributes& attributes);

// What `call` returns; what it throws becomes an error: a library call never throws.
template <typename T, typename Call>
T Guarded(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kDoesNotFit, "there is not enough memory"};
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kDoesNotFit, std::string("the system refuses: ") + error.what()};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, error.what()};
  }
}

}  // namespace partita::api

#endif  // PARTITA_PARTITA_CONVERT_H_
