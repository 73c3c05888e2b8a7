#include "ps/server/shard.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "ps/server/test_adder.h"

namespace trainyard::ps {
namespace {

std::shared_ptr<StateMemory> memory_of(std::int64_t elements, int slots = 0) {
  return std::make_shared<StateMemory>(
      "", StateMemory::Sizes{.elements = elements, .slots = slots, .versions = 16, .gradients = 1});
}

std::unique_ptr<Shard> shard_of(std::int64_t elements, float value, Sharing sharing) {
  auto shard = std::make_unique<Shard>(std::vector<Key>{{0, elements, 0}}, 0, memory_of(elements), sharing);
  shard->begin(std::vector<float>(static_cast<std::size_t>(elements), value), {}, 0);
  return shard;
}

std::string name_of(const testing::TestParamInfo<Sharing>& test) {
  return test.param == Sharing::one_thread ? "one_thread"
         : test.param == Sharing::locked   ? "locked"
                                           : "snapshots";
}

TEST(Shard, HasItsKeysOneBehindTheOther) {
  std::vector<float> parameters(100);
  std::iota(parameters.begin(), parameters.end(), 0.0f);
  const std::vector<Key> keys{{0, 16, 0}, {16, 16, 1}, {32, 48, 0}, {80, 20, 1}};
  Shard shard(keys, 1, memory_of(36), Sharing::one_thread);
  std::vector<float> own(parameters.begin() + 16, parameters.begin() + 32);
  own.insert(own.end(), parameters.begin() + 80, parameters.end());
  shard.begin(own, {}, 0);
  EXPECT_EQ(shard.elements(), 36);
  EXPECT_EQ(shard.keys(), (std::vector<std::uint32_t>{1, 3}));
  const Shard::Version version = shard.newest();
  const std::span<const float> all = version.values->values;
  EXPECT_EQ(shard.slice(all, 1).front(), 16);
  EXPECT_EQ(shard.slice(all, 3).front(), 80);
  EXPECT_EQ(shard.slice(all, 3).size(), 20u);
  EXPECT_TRUE(shard.slice(all, 0).empty()) << "of another server";
  EXPECT_TRUE(shard.slice(all, 9).empty());
}

class Sharings : public testing::TestWithParam<Sharing> {};

TEST_P(Sharings, AVersionStaysAsItWas) {
  const auto shard = shard_of(64, 1, GetParam());
  Adder adder;
  const std::vector<float> gradient(64, 2.0f);
  std::vector<Shard::Version> versions{shard->newest()};
  for (int update = 0; update < 5; ++update) {
    shard->apply(adder, gradient, 1);
    EXPECT_EQ(adder.last_step, update);
    versions.push_back(shard->newest());
  }
  for (std::size_t v = 0; v < versions.size(); ++v) {
    EXPECT_EQ(versions[v].updates, static_cast<std::int64_t>(v));
    for (const float value : versions[v].values->values) EXPECT_EQ(value, 1 + 2 * static_cast<float>(v));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Sharings,
                         testing::Values(Sharing::one_thread, Sharing::snapshots, Sharing::locked), name_of);

// A killed process leaves the last version that was complete.
TEST(Shard, AVersionTakesThePlaceOfTheLastAtOnce) {
  const auto memory = memory_of(64, 1);
  const std::vector<Key> keys{{0, 64, 0}};
  const std::vector<float> ones(64, 1.0f);
  Adder adder(1);
  Shard shard(keys, 0, memory, Sharing::one_thread);
  shard.begin(ones, std::vector<float>(64), 7);
  memory->mark_begun();
  shard.apply(adder, ones, 1);
  class Watches final : public Updater {
   public:
    Watches(const std::vector<Key>& of, std::shared_ptr<StateMemory> in) : keys(of), memory(std::move(in)) {}
    void apply(const From&, const To& to, std::span<const float>, std::int64_t, int) override {
      std::fill(to.parameters.begin(), to.parameters.end(), -1.0f);
      std::fill(to.slots.begin(), to.slots.end(), -1.0f);
      const Shard after(keys, 0, memory, Sharing::one_thread);  // as a process sees it that comes now
      EXPECT_EQ(after.updates(), 8);
      for (const float value : after.newest().values->values) EXPECT_EQ(value, 2);
      for (const float value : after.copy().slots) EXPECT_EQ(value, 1);
    }
    float rate(std::int64_t) const override { return 0; }
    int slots() const override { return 1; }
    const std::vector<Key>& keys;
    std::shared_ptr<StateMemory> memory;
  };
  Watches watches(keys, memory);
  shard.apply(watches, ones, 1);
  EXPECT_EQ(Shard(keys, 0, memory, Sharing::one_thread).updates(), 9);
}

// Nothing but whole numbers is promised; with one thread a place nothing is lost either.
TEST(Shard, RacingUpdatesOfDifferentPlacesAreAllThere) {
  constexpr std::size_t elements = 4096;
  const auto shard = shard_of(elements, 0, Sharing::racing);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Adder adder;
      std::vector<float> gradient(elements);
      for (std::size_t i = thread; i < elements; i += 4) gradient[i] = 1;
      for (int update = 0; update < 200; ++update) shard->apply(adder, gradient, 1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shard->updates(), 800);
  // A thread writes back what others had written before: less than all is allowed, more is not.
  for (const float value : shard->newest().values->values) {
    EXPECT_LE(value, 200);
    EXPECT_GT(value, 0);
  }
}

class SharedBetweenThreads : public testing::TestWithParam<Sharing> {};

TEST_P(SharedBetweenThreads, NobodyReadsHalfAnUpdate) {
  constexpr std::size_t elements = 4096;
  const auto shard = shard_of(elements, 0, GetParam());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Adder adder;
    const std::vector<float> gradient(elements, 1.0f);
    for (int update = 0; update < 3000; ++update) shard->apply(adder, gradient, 1);
    done = true;
  });
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader)
    readers.emplace_back([&] {
      std::int64_t last = 0;
      while (!done) {
        const Shard::Version version = shard->newest();
        ASSERT_GE(version.updates, last);
        last = version.updates;
        for (const float value : version.values->values)
          ASSERT_EQ(value, static_cast<float>(version.updates));
      }
    });
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(shard->updates(), 3000);
}

INSTANTIATE_TEST_SUITE_P(All, SharedBetweenThreads, testing::Values(Sharing::snapshots, Sharing::locked),
                         name_of);

}  // namespace
}  // namespace trainyard::ps
