#include "train/ps_worker.h"

#include <numeric>

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

// Ten parameters and six statistics, dealt to two servers in keys of four.
const std::vector<ps::Key> kKeys{{0, 4, 0}, {4, 4, 1}, {8, 4, 0}, {12, 4, 1}};

TEST(ServerUpdate, ParametersMoveAndStatisticsAreTold) {
  ops::UpdateAttrs attrs;
  attrs.schedule.rate = 0.5;
  for (const int server : {0, 1}) {
    ServerUpdate update(attrs, kKeys, server, 10);
    EXPECT_EQ(update.slots(), 0);
    const std::vector<float> before(8, 1.0f), gradient(8, 4.0f);
    std::vector<float> after(8);
    update.apply({before, {}}, {after, {}}, gradient, 0, 2);
    const std::size_t parameters = server == 0 ? 6 : 4;  // its part of the first ten
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(after[i], i < parameters ? 1 - 0.5f * 4 : 2) << "server " << server << ", element " << i;
  }
}

TEST(ServerUpdate, WritesNothingOfWhatItReads) {
  ops::UpdateAttrs attrs;
  attrs.rule = ops::Rule::adam;
  attrs.ema_decay = 0.9;
  ServerUpdate update(attrs, {{0, 64, 0}}, 0, 64);
  ASSERT_EQ(update.slots(), 3);
  std::vector<float> before(64), slots(3 * 64), gradient(64, 0.25f);
  std::iota(before.begin(), before.end(), 0.0f);
  const std::vector<float> same = before, same_slots = slots;
  std::vector<float> after(64), after_slots(3 * 64);
  update.apply({before, slots}, {after, after_slots}, gradient, 3, 1);
  EXPECT_EQ(before, same);
  EXPECT_EQ(slots, same_slots);
  // In place it comes to the same.
  update.apply({before, slots}, {before, slots}, gradient, 3, 1);
  EXPECT_EQ(before, after);
  EXPECT_EQ(slots, after_slots);
}

}  // namespace

}  // namespace trainyard::train
