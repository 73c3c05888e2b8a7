#include "ps/shard.h"

#include <atomic>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace trainyard::ps {
namespace {

class Adder final : public Updater {
 public:
  void apply(std::span<float> parameters, std::span<const float> gradient, std::int64_t step) override {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += gradient[i];
    last_step = step;
  }
  std::int64_t last_step = -1;
};

std::string name_of(const testing::TestParamInfo<Sharing>& test) {
  return test.param == Sharing::one_thread ? "one_thread"
         : test.param == Sharing::locked   ? "locked"
                                           : "snapshots";
}

TEST(Shard, HasItsKeysOneBehindTheOther) {
  std::vector<float> parameters(100);
  std::iota(parameters.begin(), parameters.end(), 0.0f);
  const std::vector<Key> keys{{0, 16, 0}, {16, 16, 1}, {32, 48, 0}, {80, 20, 1}};
  const Shard shard(keys, 1, parameters, Sharing::one_thread);
  EXPECT_EQ(shard.elements(), 36);
  EXPECT_EQ(shard.keys(), (std::vector<std::uint32_t>{1, 3}));
  const Shard::Version version = shard.newest();
  const std::span<const float> all(*version.values);
  EXPECT_EQ(shard.slice(all, 1).front(), 16);
  EXPECT_EQ(shard.slice(all, 3).front(), 80);
  EXPECT_EQ(shard.slice(all, 3).size(), 20u);
  EXPECT_TRUE(shard.slice(all, 0).empty()) << "of another server";
  EXPECT_TRUE(shard.slice(all, 9).empty());
}

class Sharings : public testing::TestWithParam<Sharing> {};

TEST_P(Sharings, AVersionStaysAsItWas) {
  Shard shard({{0, 64, 0}}, 0, std::vector<float>(64, 1.0f), GetParam());
  Adder adder;
  const std::vector<float> gradient(64, 2.0f);
  std::vector<Shard::Version> versions{shard.newest()};
  for (int update = 0; update < 5; ++update) {
    shard.apply(adder, gradient);
    EXPECT_EQ(adder.last_step, update);
    versions.push_back(shard.newest());
  }
  for (std::size_t v = 0; v < versions.size(); ++v) {
    EXPECT_EQ(versions[v].updates, static_cast<std::int64_t>(v));
    for (const float value : *versions[v].values) EXPECT_EQ(value, 1 + 2 * static_cast<float>(v));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Sharings,
                         testing::Values(Sharing::one_thread, Sharing::snapshots, Sharing::locked), name_of);

TEST(Shard, OnOneThreadNothingIsCopiedUnlessSomebodyReads) {
  Shard shard({{0, 64, 0}}, 0, std::vector<float>(64), Sharing::one_thread);
  Adder adder;
  const std::vector<float> gradient(64, 1.0f);
  const float* place = shard.newest().values->data();
  shard.apply(adder, gradient);
  EXPECT_EQ(shard.newest().values->data(), place);
  const Shard::Version held = shard.newest();
  shard.apply(adder, gradient);
  EXPECT_NE(shard.newest().values->data(), place);
}

class SharedBetweenThreads : public testing::TestWithParam<Sharing> {};

TEST_P(SharedBetweenThreads, NobodyReadsHalfAnUpdate) {
  constexpr std::size_t kElements = 4096;
  Shard shard({{0, kElements, 0}}, 0, std::vector<float>(kElements), GetParam());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Adder adder;
    const std::vector<float> gradient(kElements, 1.0f);
    for (int update = 0; update < 3000; ++update) shard.apply(adder, gradient);
    done = true;
  });
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader)
    readers.emplace_back([&] {
      std::int64_t last = 0;
      while (!done) {
        const Shard::Version version = shard.newest();
        ASSERT_GE(version.updates, last);
        last = version.updates;
        for (const float value : *version.values) ASSERT_EQ(value, static_cast<float>(version.updates));
      }
    });
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(shard.updates(), 3000);
}

INSTANTIATE_TEST_SUITE_P(All, SharedBetweenThreads, testing::Values(Sharing::snapshots, Sharing::locked),
                         name_of);

}  // namespace
}  // namespace trainyard::ps
