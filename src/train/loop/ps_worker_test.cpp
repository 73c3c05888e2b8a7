#include "train/loop/ps_worker.h"

#include <gtest/gtest.h>

#include "data/source/synthetic.h"
#include "data/view/batch_stream.h"

namespace trainyard::train {

namespace {

// A batch always matches its number, whichever batches were made ahead and whether or not they were then
// used.
TEST(LeasedBatches, ABatchIsThatOfItsNumber) {
  const data::Dataset dataset = data::make_synthetic(
      {.image_shape = {1, 12, 12}, .classes = 4, .train_images = 60, .test_images = 10, .seed = 5});
  const data::BatchStreamOptions options{.preprocess = {"lenet", {1, 12, 12}}, .batch = 4, .seed = 3};
  LeasedBatches batches(dataset, options);
  const std::vector<std::pair<std::int64_t, std::int64_t>> used_and_ahead{{0, 1}, {1, 5}, {4, 5}, {5, 5},
                                                                          {5, 2}, {2, 9}, {3, 9}, {9, 0}};
  for (const auto& [number, ahead] : used_and_ahead) {
    const LeasedBatches::Batch& batch = batches.get(number);
    batches.prepare(ahead);
    data::BatchStreamOptions at = options;
    at.first_step = number;
    data::BatchStream stream(dataset, at);
    const data::Batch& wanted = stream.next();
    EXPECT_EQ(batch.number, number);
    EXPECT_EQ(batch.valid, wanted.valid);
    const auto images = batch.images.as<float>(), same = wanted.images.as<float>();
    ASSERT_EQ(images.size(), same.size());
    EXPECT_TRUE(std::equal(images.begin(), images.end(), same.begin())) << number;
    const auto labels = batch.labels.as<std::int32_t>(), same_labels = wanted.labels.as<std::int32_t>();
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), same_labels.begin())) << number;
  }
}

// Whoever asks does not look at a batch that is being made: it was read once, as the thread sanitizer saw.
TEST(LeasedBatches, AnotherIsAskedForWhileOneIsMade) {
  const data::Dataset dataset = data::make_synthetic(
      {.image_shape = {1, 12, 12}, .classes = 4, .train_images = 60, .test_images = 10, .seed = 5});
  LeasedBatches batches(dataset, {.preprocess = {"lenet", {1, 12, 12}}, .batch = 4, .seed = 3});
  for (std::int64_t number = 0; number < 40; number += 2) {
    batches.prepare(number + 1);
    EXPECT_EQ(batches.get(number).number, number);
  }
}

}  // namespace

}  // namespace trainyard::train
