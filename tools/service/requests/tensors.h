// Tensors of messages as those of the library, and back.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_TENSORS_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_TENSORS_H_

#include "absl/status/statusor.h"
#include "partita/partita.h"
#include "proto/service.pb.h"

namespace partita::service {

// Views of the request's tensors. kInvalidArgument: a tensor whose size in bytes does not match its shape and type.
absl::StatusOr<api::Fields> FieldsOf(const v1::PredictRequest& request);

v1::Tensor ToMessage(const api::Tensor& tensor);

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_TENSORS_H_
