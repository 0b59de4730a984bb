// Learns to tell which of two numbers is larger, and asks what it has learnt: Partita as a C library.
//
//   cc train_and_predict.c -lpartita
#include <partita.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBatch = 32 };

static const char kModel[] =
    "schema_version: 1 name: 'comparer' loss: 'loss' metrics: 'accuracy'"
    "optimizer { name: 'sgd' } learning_rate { schedule: 'constant' base: 0.1 }"
    "nodes { name: 'pairs' op: 'input' attributes { name: 'shape' integers { values: [32, 2] } } }"
    "nodes { name: 'larger' op: 'input' attributes { name: 'shape' integers { values: 32 } }"
    "  attributes { name: 'dtype' text: 'i32' } }"
    "nodes { name: 'weights' op: 'parameter' attributes { name: 'shape' integers { values: [2, 2] } }"
    "  attributes { name: 'initializer' text: 'glorot_uniform' } }"
    "nodes { name: 'scores' op: 'matmul' inputs: ['pairs', 'weights'] }"
    "nodes { name: 'loss' op: 'softmax_cross_entropy' inputs: ['scores', 'larger'] }"
    "nodes { name: 'accuracy' op: 'accuracy' inputs: ['scores', 'larger'] }";

static void Check(partita_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", partita_error_message(error));
  exit(1);
}

int main(void) {
  partita_model* model = NULL;
  Check(partita_model_from_text(kModel, &model));
  const char* const values[] = {"scores"};
  const partita_session_options options = {
      .size = sizeof options, .settings = "dp = 2", .values = values, .value_count = 1};
  partita_session* session = NULL;
  Check(partita_session_start(model, &options, &session));
  partita_model_free(model);

  float pairs[kBatch][2];
  int32_t larger[kBatch];
  const int64_t pair_shape[] = {kBatch, 2};
  const partita_tensor batch[] = {{sizeof batch[0], "pairs", PARTITA_F32, 2, pair_shape, pairs},
                                  {sizeof batch[0], "larger", PARTITA_I32, 1, pair_shape, larger}};
  srand(1);
  for (int step = 1; step <= 500; ++step) {
    for (int i = 0; i < kBatch; ++i) {
      for (int j = 0; j < 2; ++j) pairs[i][j] = 2.0f * (float)rand() / (float)RAND_MAX - 1.0f;
      larger[i] = pairs[i][1] > pairs[i][0];
    }
    partita_step done = {.size = sizeof done};
    Check(partita_session_train(session, batch, 2, &done));
    if (step % 100 == 0) printf("loss %.3f, accuracy %.2f\n", done.loss, done.metric_values[0]);
  }

  partita_values* predicted = NULL;
  Check(partita_session_predict(session, batch, 1, &predicted));
  partita_tensor scores = {.size = sizeof scores};
  Check(partita_values_find(predicted, "scores", &scores));
  const float* const row = scores.data;
  printf("of %.2f and %.2f the %s is larger\n", pairs[0][0], pairs[0][1], row[1] > row[0] ? "second" : "first");
  partita_values_free(predicted);
  partita_session_free(session);
  return 0;
}
