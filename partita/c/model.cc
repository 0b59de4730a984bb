// Models.
#include <fmt/format.h>

#include <utility>

#include "partita/c/objects.h"
#include "partita/c/structs.h"

namespace {

using partita::api::Import;
using partita::api::Model;
using partita::api::Outcome;
using partita::api::Result;
using partita::c::Call;
using partita::c::CallOf;
using partita::c::Invalid;
using partita::c::Live;

Outcome Give(Result<Model> read, partita_model** model) {
  if (!read) return read.error();
  *model = Live<partita_model>::Add(std::make_shared<partita_model>(*std::move(read)));
  return std::nullopt;
}

Outcome ImportOf(const partita_import_options* given, Import& import) {
  if (given == nullptr) return std::nullopt;
  partita_import_options options;
  if (const Outcome wrong = partita::c::ReadStruct(given, "options", options)) return wrong;
  if (options.loss != nullptr) import.loss = options.loss;
  import.frozen_statistics = options.frozen_statistics != 0;
  return std::nullopt;
}

}  // namespace

extern "C" {

partita_error* partita_model_from_file(const char* path, const partita_import_options* options, partita_model** model) {
  return Call([&]() -> Outcome {
    if (path == nullptr) return Invalid("path is NULL");
    if (model == nullptr) return Invalid("model is NULL");
    Import import;
    if (const Outcome wrong = ImportOf(options, import)) return wrong;
    return Give(Model::FromFile(path, import), model);
  });
}

partita_error* partita_model_from_text(const char* text, partita_model** model) {
  return Call([&]() -> Outcome {
    if (text == nullptr) return Invalid("text is NULL");
    if (model == nullptr) return Invalid("model is NULL");
    return Give(Model::FromText(text), model);
  });
}

partita_error* partita_model_with_batch(const partita_model* model, int64_t batch, partita_model** other) {
  return CallOf(model, "model", [&](const partita_model& known) -> Outcome {
    if (other == nullptr) return Invalid("other is NULL");
    return Give(known.model.WithBatch(batch), other);
  });
}

size_t partita_model_field_count(const partita_model* model) {
  const auto found = Live<partita_model>::Find(model);
  return found == nullptr ? 0 : found->fields.size();
}

partita_error* partita_model_field(const partita_model* model, size_t index, partita_tensor* field) {
  return CallOf(model, "model", [&](const partita_model& known) -> Outcome {
    if (const Outcome wrong = partita::c::CheckSize(field, "field")) return wrong;
    if (index >= known.fields.size()) {
      return Invalid(fmt::format("index is {}; there are {} fields", index, known.fields.size()));
    }
    const partita::api::Field& named = known.fields[index];
    partita::c::WriteStruct(partita::c::TensorOf(named.name, named.type, named.shape, nullptr), field);
    return std::nullopt;
  });
}

void partita_model_free(partita_model* model) { Live<partita_model>::Remove(model); }

}  // extern "C"
