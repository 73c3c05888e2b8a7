#include "ps/wire/ledger.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "ps/server/batches.h"

namespace trainyard::ps {
namespace {

void add(Ledger& ledger, std::vector<Counted> gradients) { ledger.add_update(gradients); }

TEST(Ledger, KnowsWhatEveryUpdateIsMadeOf) {
  Ledger ledger;
  add(ledger, {{.batch = 0, .clock = 0, .worker = 0}, {.batch = 1, .clock = 0, .worker = 3}});
  add(ledger, {{.batch = 2, .clock = 1, .worker = 3}});
  EXPECT_EQ(ledger.updates(), 2);
  EXPECT_EQ(ledger.gradients(), 3);
  EXPECT_EQ(ledger.next_clock(3), 2u);
  EXPECT_EQ(ledger.next_clock(0), 1u);
  EXPECT_EQ(ledger.next_clock(1), 0u);
  ASSERT_EQ(ledger.since(1).size(), 1u);
  EXPECT_EQ(ledger.since(1)[0], (Counted{.update = 1, .batch = 2, .clock = 1, .worker = 3}));
  EXPECT_EQ(ledger.since(0).size(), 3u);
  EXPECT_TRUE(ledger.since(2).empty());
}

TEST(Ledger, CountsAGradientOnce) {
  Ledger ledger;
  add(ledger, {{.batch = 0, .clock = 0, .worker = 1}});
  const auto refuses = [&](const Counted& gradient) {
    Ledger other = ledger;
    EXPECT_THROW(add(other, {gradient}), Error);
  };
  refuses({.batch = 1, .clock = 0, .worker = 1});
  refuses({.batch = 0, .clock = 1, .worker = 1});  // its batch was used
  refuses({.batch = 1, .clock = 2, .worker = 1});  // one is left out
}

TEST(Ledger, OldGradientsAreForgottenButCounted) {
  Ledger ledger;
  for (std::uint64_t clock = 0; clock < 3 * Ledger::kRecent; ++clock)
    add(ledger, {{.batch = static_cast<std::int64_t>(clock), .clock = clock, .worker = 0}});
  EXPECT_EQ(ledger.next_clock(0), static_cast<std::uint64_t>(3 * Ledger::kRecent));
  EXPECT_EQ(ledger.since(ledger.updates() - 10).size(), 10u);
  EXPECT_THROW(ledger.since(0), Error);
}

TEST(Batches, AreLentInOrderAndComeBack) {
  Batches batches(4, Ledger());
  EXPECT_EQ(batches.lend(0), 0);
  EXPECT_EQ(batches.lend(1), 1);
  EXPECT_EQ(batches.lend(0), 2);
  batches.take_back(0);
  EXPECT_EQ(batches.lend(1), 0) << "the lowest that is free";
  EXPECT_EQ(batches.use(1), 1);
  EXPECT_EQ(batches.lend(1), 2);
  EXPECT_EQ(batches.lend(1), 3);
  EXPECT_EQ(batches.lend(0), std::nullopt);
  EXPECT_FALSE(batches.all_used());
  for (int i = 0; i < 3; ++i) batches.use(1);
  EXPECT_TRUE(batches.all_used());
}

// Workers come, die with what they have, and the whole is begun again from the ledger at times: each batch is
// used exactly once.
TEST(Batches, EachIsUsedOnceWhateverHappens) {
  constexpr std::int64_t kTotal = 500;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Philox random(seed, 1);
    std::uint64_t drawn = 0;
    const auto draw = [&](std::uint32_t below) { return random.word(drawn++) % below; };
    Ledger ledger;
    std::optional<Batches> batches(std::in_place, kTotal, ledger);
    std::multiset<std::int64_t> used;
    while (!batches->all_used()) {
      const int worker = static_cast<int>(draw(5));
      switch (draw(20)) {
        case 0:
          batches->take_back(worker);
          break;
        case 1:
          batches.emplace(kTotal, ledger);
          break;
        default:
          if (batches->lent_to(worker).size() < 2) batches->lend(worker);
          if (batches->lent_to(worker).empty() || draw(2) == 0) break;
          const std::int64_t batch = batches->use(worker);
          used.insert(batch);
          add(ledger, {{.batch = batch,
                        .clock = ledger.next_clock(static_cast<std::uint32_t>(worker)),
                        .worker = static_cast<std::uint32_t>(worker)}});
      }
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(kTotal)) << "seed " << seed;
    EXPECT_EQ(std::set(used.begin(), used.end()).size(), used.size()) << "seed " << seed;
    EXPECT_EQ(ledger.next_batch(), kTotal);
    EXPECT_TRUE(ledger.loose().empty());
  }
}

}  // namespace
}  // namespace trainyard::ps
