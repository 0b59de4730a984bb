// A program that is written against the C interface trains on an emulated GPU as on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "partita/c/partita.h"

namespace {

constexpr int64_t kBatch = 8;
constexpr double kBar = 1e-5;

void Check(partita_error* error) {
  EXPECT_EQ(partita_error_code(error), PARTITA_OK) << partita_error_message(error);
  partita_error_free(error);
}

using Session = std::unique_ptr<partita_session, decltype(&partita_session_free)>;

Session Start(const std::string& settings) {
  partita_model *read = nullptr, *model = nullptr;
  Check(partita_model_from_file("tools/models/examples/lenet5.pbtxt", nullptr, &read));
  Check(partita_model_with_batch(read, kBatch, &model));
  const char* const values[] = {"classifier/bias"};
  partita_session_options options{};
  options.size = sizeof options;
  options.settings = settings.c_str();
  options.values = values;
  options.value_count = 1;
  partita_session* session = nullptr;
  Check(partita_session_start(model, &options, &session));
  partita_model_free(read);
  partita_model_free(model);
  return {session, partita_session_free};
}

// The losses of three steps, and behind them the scores that are predicted then.
std::vector<double> Trained(partita_session* session) {
  std::vector<float> images(kBatch * 28 * 28);
  std::vector<int32_t> labels(kBatch);
  const int64_t image_shape[] = {kBatch, 28, 28, 1};
  const partita_tensor batch[] = {{sizeof batch[0], "images", PARTITA_F32, 4, image_shape, images.data()},
                                  {sizeof batch[0], "labels", PARTITA_I32, 1, image_shape, labels.data()}};
  std::vector<double> found;
  for (size_t step = 0; step < 3; ++step) {
    for (size_t i = 0; i < images.size(); ++i) images[i] = std::sin(static_cast<float>(i * (step + 1)) * 0.37f);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>((i * 7 + step) % 10);
    partita_step done{};
    done.size = sizeof done;
    Check(partita_session_train(session, batch, 2, &done));
    found.push_back(done.loss);
  }
  partita_values* predicted = nullptr;
  Check(partita_session_predict(session, batch, 1, &predicted));
  partita_tensor scores{};
  scores.size = sizeof scores;
  Check(partita_values_find(predicted, "classifier/bias", &scores));
  const float* const data = static_cast<const float*>(scores.data);
  found.insert(found.end(), data, data + kBatch * 10);
  partita_values_free(predicted);
  return found;
}

TEST(CLibraryOnGpu, TrainsAndPredictsAsOnTheHost) {
  setenv("XDG_CACHE_HOME", testing::TempDir().c_str(), 1);  // plans of libraries
  const std::vector<double> expected = Trained(Start("threads = 1\nsteps = 8").get());
  ASSERT_EQ(expected.size(), 3u + kBatch * 10);
  for (const char* split : {"", "dp = 2", "dp = 2\nmp = 2"}) {
    SCOPED_TRACE(split);
    const Session gpu = Start(std::string("threads = 1\nsteps = 8\ndevice = cuda\n") + split);
    const std::vector<double> found = Trained(gpu.get());
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kBar * (1 + std::abs(expected[i])));
  }
}

}  // namespace
