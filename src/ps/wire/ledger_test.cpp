#include "ps/wire/ledger.h"

#include <gtest/gtest.h>

#include "base/error.h"

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

}  // namespace
}  // namespace trainyard::ps
