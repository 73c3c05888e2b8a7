// Tests a client's states and their transitions, without a network.
#include "ps/client/progress.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::ps {
namespace {

using Stage = Progress::Stage;

class ProgressTest : public testing::Test {
 protected:
  // The worker joins and has weights for this batch.
  void deliver(std::int64_t batch) {
    progress_.lent(batch);
    progress_.weights_came();
    ASSERT_EQ(progress_.stage(), Stage::delivered);
  }
  // It takes them and gives its whole gradient.
  Progress::Taken give() {
    const Progress::Taken taken = progress_.take();
    progress_.all_sent();
    EXPECT_EQ(progress_.stage(), Stage::waiting);
    return taken;
  }

  Progress progress_;
};

TEST_F(ProgressTest, GoesRoundWithAGradientThatCounts) {
  progress_.welcomed(0);
  deliver(7);
  EXPECT_EQ(give().batch, 7);
  EXPECT_EQ(progress_.clock(), 0u);
  deliver(8);
  EXPECT_EQ(progress_.clock(), 1u);
  const Progress::Taken taken = progress_.take();
  EXPECT_EQ(taken.batch, 8);
  EXPECT_TRUE(taken.counted);
  EXPECT_EQ(progress_.counts().gradients, 1);
  EXPECT_EQ(progress_.counts().dropped_gradients, 0);
}

TEST_F(ProgressTest, TheNextBatchIsTheOneBehindThatOfTheWeights) {
  progress_.lent(7);
  progress_.lent(8);
  progress_.weights_came();
  EXPECT_EQ(progress_.next_batch(), 8);
  progress_.take();
  EXPECT_EQ(progress_.next_batch(), 8);
}

TEST_F(ProgressTest, WeightsWithoutABatchAreAFailure) {
  progress_.weights_came();
  EXPECT_EQ(progress_.stage(), Stage::failed);
  EXPECT_NE(progress_.failure().find("no batch"), std::string::npos);
}

TEST_F(ProgressTest, AWorkerThatComputesIsNotCalledBackBeforeItWaits) {
  deliver(7);
  progress_.take();
  EXPECT_FALSE(progress_.lost());
  EXPECT_EQ(progress_.stage(), Stage::away);
  progress_.all_sent();  // of weights that are not valid any more
  EXPECT_EQ(progress_.stage(), Stage::away);
  EXPECT_TRUE(progress_.waits(progress_.taken()));
  EXPECT_EQ(progress_.stage(), Stage::joining);
}

TEST_F(ProgressTest, AWordOfWaitingThatComesLateIsNotBelieved) {
  deliver(7);
  give();
  const std::int64_t before = progress_.taken();
  deliver(8);
  progress_.take();
  EXPECT_FALSE(progress_.lost());
  EXPECT_FALSE(progress_.waits(before)) << "it computes";
  EXPECT_EQ(progress_.stage(), Stage::away);
}

TEST_F(ProgressTest, WeightsThatNobodyTookGoWithTheirServers) {
  deliver(7);
  EXPECT_TRUE(progress_.lost());
  EXPECT_EQ(progress_.stage(), Stage::joining);
  EXPECT_EQ(progress_.next_batch(), std::nullopt);
  EXPECT_THROW(progress_.take(), Error);
}

TEST_F(ProgressTest, TheServersClockSaysWhetherALostGradientCounts) {
  for (const bool counts : {true, false}) {
    Progress progress;
    progress.welcomed(4);
    progress.lent(7);
    progress.weights_came();
    progress.take();
    progress.all_sent();
    EXPECT_TRUE(progress.lost());
    progress.welcomed(counts ? 5 : 4);
    progress.lent(8);
    progress.weights_came();
    EXPECT_EQ(progress.clock(), counts ? 5u : 4u);
    EXPECT_EQ(progress.take().counted, counts);
    EXPECT_EQ(progress.counts().gradients, counts ? 1 : 0);
    EXPECT_EQ(progress.counts().dropped_gradients, counts ? 0 : 1);
    EXPECT_EQ(progress.counts().joins, 2);
  }
}

TEST_F(ProgressTest, TheEndIsFinal) {
  deliver(7);
  give();
  progress_.finish();
  progress_.weights_came();
  EXPECT_FALSE(progress_.lost());
  progress_.fail("a server is lost");
  EXPECT_EQ(progress_.stage(), Stage::done);
  progress_.take_end();
  progress_.take_end();
  EXPECT_EQ(progress_.counts().gradients, 1) << "the last one, once";
}

TEST_F(ProgressTest, NothingFollowsAFailureOrTheEndOfTheWorker) {
  progress_.fail("first");
  progress_.fail("second");
  EXPECT_FALSE(progress_.lost());
  EXPECT_EQ(progress_.stage(), Stage::failed);
  EXPECT_EQ(progress_.failure(), "first");
  progress_.end();
  progress_.finish();
  progress_.fail("third");
  EXPECT_EQ(progress_.stage(), Stage::ending);
}

}  // namespace
}  // namespace trainyard::ps
