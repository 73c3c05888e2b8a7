// Tests one server's part of events, without the others: their messages are put in by hand.
#include "ps/server/replica.h"

#include <gtest/gtest.h>

#include "ps/mode/test_modes.h"
#include "ps/server/test_adder.h"

namespace trainyard::ps {
namespace {

constexpr std::int64_t kReplicaElements = 100;

class ReplicaModes : public testing::TestWithParam<std::string> {
 protected:
  ReplicaModes() {
    const std::vector<float> zeros(kReplicaElements);
    replica_.begin(zeros, {}, {});
  }

  // All of a worker's gradient is here; the holder keeps it.
  std::shared_ptr<Buffer> prepare(std::uint64_t clock) {
    std::shared_ptr<Buffer> gradient = replica_.gradients().take();
    std::fill(gradient->values.begin(), gradient->values.end(), 1.0f);
    replica_.keep(*gradient, 0, clock);
    return gradient;
  }

  void want_snapshot(std::int64_t updates) {
    replica_.snapshot(updates, [this](Shard::Copy copy, const LedgerStart& start) {
      EXPECT_FALSE(snapshot_.has_value());
      snapshot_ = std::move(copy);
      start_ = start;
    });
  }

  comm::transport::Loop loop_;
  Adder adder_;
  Replica replica_{
      loop_, {.mode = ModeName::parse(GetParam())}, make_keys(kReplicaElements, 1), adder_, [](int) {}};
  std::optional<Shard::Copy> snapshot_;
  LedgerStart start_;
};

// The link to the leader broke before the last commit came through. All parameters were requested by then,
// and the leader has nothing to say after the history: the requester waited for ever.
TEST_P(ReplicaModes, GivesASnapshotWhenHistoryBringsItsMoment) {
  const std::shared_ptr<Buffer> last = prepare(0);
  want_snapshot(1);
  EXPECT_FALSE(snapshot_.has_value());
  replica_.take_history({{.update = 0, .batch = 0, .clock = 0, .worker = 0}});
  ASSERT_TRUE(snapshot_.has_value());
  EXPECT_EQ(snapshot_->updates, 1);
  EXPECT_EQ(snapshot_->parameters, std::vector<float>(kReplicaElements, 1.0f));
  EXPECT_EQ(start_.next_batch, 1);
}

TEST_P(ReplicaModes, HistoryThatIsTooShortGivesNone) {
  const std::shared_ptr<Buffer> last = prepare(0);
  want_snapshot(2);
  replica_.take_history({{.update = 0, .batch = 0, .clock = 0, .worker = 0}});
  replica_.restart();
  EXPECT_FALSE(snapshot_.has_value());
}

INSTANTIATE_TEST_SUITE_P(Modes, ReplicaModes, testing::ValuesIn(summing_modes(1, false)),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace trainyard::ps
