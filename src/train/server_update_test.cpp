#include "train/server_update.h"

#include <numeric>

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

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
