// Tests how the leader lends batches: each is used once.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "ps/server/arbiter.h"

namespace trainyard::ps {
namespace {

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
          std::vector<Counted> gradients{{.batch = batch,
                                          .clock = ledger.next_clock(static_cast<std::uint32_t>(worker)),
                                          .worker = static_cast<std::uint32_t>(worker)}};
          ledger.add_update(gradients);
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
