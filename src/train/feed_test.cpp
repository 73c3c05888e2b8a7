#include "train/feed.h"

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

TEST(Feed, IsFoundByItsName) {
  EXPECT_EQ(feed_names(), (std::vector<std::string>{"auto", "device", "host"}));
  for (const std::string& each : feed_names()) EXPECT_EQ(name(*find_feed(each)), each);
  EXPECT_EQ(find_feed("hots"), std::nullopt);
}

}  // namespace
}  // namespace trainyard::train
