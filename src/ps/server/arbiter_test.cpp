// Tests the leader's decisions with servers that are plain lists: workers are moved by hand, or at random.
#include "ps/server/arbiter.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard::ps {
namespace {

// All servers of a run; each performs events in the leader's order, some of them late.
class Servers final : public Arbiter::Host {
 public:
  explicit Servers(const ArbiterOptions& options) : options_(options), arbiter_(*this, options) {
    arbiter_.begin(0);
  }

  const Ledger& ledger() const override { return ledgers_[now_]; }
  void happen(const Event& event) override {
    events_.push_back(event);
    const int worker = static_cast<int>(event.worker);
    switch (event.kind) {
      case Event::Kind::admit:
        EXPECT_FALSE(epochs_.contains(worker));
        epochs_[worker] = event.epoch;
        clocks_[worker] = event.clock;
        if (started_) arbiter_.release(worker);
        break;
      case Event::Kind::start:
        started_ = true;
        for (const auto& [each, epoch] : epochs_) arbiter_.release(each);
        break;
      case Event::Kind::commit: {
        EXPECT_EQ(event.epoch, epochs_.at(worker));
        std::vector<Counted> one{{.batch = event.batch, .clock = event.clock, .worker = event.worker}};
        ++clocks_[worker];
        if (round_ > 1) {
          committed_.push_back(one[0]);
          if (static_cast<int>(committed_.size()) < round_) break;
          one = std::exchange(committed_, {});
        }
        count(one);
        for (const Counted& each : one)
          if (epochs_.contains(static_cast<int>(each.worker)))
            arbiter_.release(static_cast<int>(each.worker));
        break;
      }
      case Event::Kind::rest:
        EXPECT_TRUE(resting_.insert(worker).second);
        break;
      case Event::Kind::resume:
        EXPECT_EQ(resting_.erase(worker), 1u);
        arbiter_.release(worker);
        break;
      case Event::Kind::remove:
        EXPECT_EQ(epochs_.at(worker), event.epoch);
        epochs_.erase(worker);
        computing_.erase(worker);
        resting_.erase(worker);
        break;
    }
  }
  // This writes the next ledger beside the last, as a server does.
  void count(std::vector<Counted>& gradients) {
    Ledger longer = ledger();
    longer.add_update(gradients);
    now_ = 1 - now_;
    ledgers_[now_] = longer;
    ledgers_[1 - now_] = {};
  }
  void lend(int worker, std::int64_t batch) override { lent_[worker].push_back(batch); }
  void send_weights(int worker) override { EXPECT_TRUE(computing_.insert(worker).second); }
  void send_done(int worker) override { done_.insert(worker); }
  void finished(const std::string& failure) override {
    EXPECT_TRUE(!finished_ || (failure_.empty() && !failure.empty()));
    finished_ = true;
    failure_ = failure;
  }

  void arrive(int worker) {
    for (int server = 0; server < options_.servers; ++server) arbiter_.seen(server, worker);
    arbiter_.settle();
    arbiter_.lend_ahead();
  }
  void push(int worker, int server) {
    arbiter_.prepared(server, worker, epochs_.at(worker), clocks_.at(worker), {});
    arbiter_.settle();
    arbiter_.lend_ahead();
  }
  void push(int worker) {
    computing_.erase(worker);
    for (int server = 0; server < options_.servers; ++server) push(worker, server);
  }
  void die(int worker, int seen_by = 0) {
    arbiter_.lost(seen_by, worker, epochs_.at(worker), "killed", true);
    arbiter_.settle();
    arbiter_.lend_ahead();
  }

  ArbiterOptions options_;
  std::array<Ledger, 2> ledgers_ = {};
  std::size_t now_ = 0;
  Arbiter arbiter_;
  int round_ = 1;  // so many gradients make an update
  std::vector<Counted> committed_;
  std::vector<Event> events_;
  std::map<int, std::uint32_t> epochs_;
  std::map<int, std::uint64_t> clocks_;
  std::map<int, std::vector<std::int64_t>> lent_;
  std::set<int> computing_, resting_, done_;
  bool started_ = false, finished_ = false;
  std::string failure_;
};

TEST(Arbiter, StartsWhenAllServersSawAllWorkers) {
  Servers run({.servers = 3, .workers = 2, .batches = 10});
  run.arrive(1);
  EXPECT_FALSE(run.started_);
  run.arbiter_.seen(0, 0);
  run.arbiter_.seen(2, 0);
  EXPECT_FALSE(run.epochs_.contains(0)) << "server 1 did not see it";
  run.arbiter_.seen(1, 0);
  run.arbiter_.settle();
  EXPECT_TRUE(run.started_);
  EXPECT_EQ(run.computing_, (std::set<int>{0, 1}));
}

// Some servers are ready before others, and tell of workers at once.
TEST(Arbiter, WhoWasSeenBeforeAllServersAgreedIsNotForgotten) {
  Servers run({.servers = 2, .workers = 1, .batches = 10});
  run.arbiter_.suspend(0);
  run.arbiter_.seen(1, 0);
  run.arbiter_.begin(0);
  run.arbiter_.seen(0, 0);
  EXPECT_TRUE(run.epochs_.contains(0));
}

// Its connection there went with the server.
TEST(Arbiter, WhoWasSeenBeforeAServerWasLostIsSeenAgain) {
  Servers run({.servers = 2, .workers = 1, .batches = 10});
  run.arbiter_.suspend(0);
  run.arbiter_.seen(1, 0);
  run.arbiter_.suspend(0);
  run.arbiter_.begin(0);
  run.arbiter_.seen(0, 0);
  EXPECT_FALSE(run.epochs_.contains(0));
}

// The leader was told "c" for a gradient that then counted, and that the worker would have made again.
TEST(Arbiter, WhoComesAgainBeforeItsRoundEndsWaitsForTheEnd) {
  Servers run({.workers = 2, .batches = 10});
  run.round_ = 2;
  run.arrive(0);
  run.arrive(1);
  run.push(0);
  run.die(0);
  run.arrive(0);
  EXPECT_FALSE(run.epochs_.contains(0)) << "nobody knows whether its gradient counts";
  run.push(1);
  EXPECT_EQ(run.ledger().updates(), 1);
  EXPECT_EQ(run.clocks_.at(0), 1u);
  EXPECT_TRUE(run.epochs_.contains(0));
}

TEST(Arbiter, ThatWasStartedAgainDoesNotWaitForEverForAllWorkers) {
  Servers run({.workers = 3, .patience_seconds = 8, .batches = 10});
  std::vector<Counted> one{{.batch = 0, .clock = 0, .worker = 1}};
  run.count(one);
  run.arbiter_.suspend(0);
  run.arbiter_.begin(0);
  run.arrive(1);
  run.arbiter_.look_at_time(1);
  EXPECT_FALSE(run.started_);
  run.arbiter_.look_at_time(3);
  EXPECT_TRUE(run.started_);
}

TEST(Arbiter, SaysWhenItNeverSeesTheOtherServers) {
  Servers run({.servers = 2, .patience_seconds = 10, .batches = 10});
  run.arbiter_.suspend(1);
  run.arbiter_.suspend(9);  // one came and went: still not all of them
  run.arbiter_.look_at_time(10);
  EXPECT_FALSE(run.finished_);
  run.arbiter_.look_at_time(12);
  EXPECT_EQ(run.failure_, "a server is missing, for 10 s");
}

// The process that collects the results waits for that server.
TEST(Arbiter, SaysThatAServerIsMissingAlsoWhenAllIsDone) {
  Servers run({.servers = 2, .workers = 1, .patience_seconds = 10, .batches = 1});
  run.arrive(0);
  run.push(0);
  EXPECT_TRUE(run.finished_);
  EXPECT_EQ(run.failure_, "");
  run.arbiter_.look_at_time(100);
  EXPECT_EQ(run.failure_, "") << "none is missing";
  run.arbiter_.suspend(101);
  run.arbiter_.look_at_time(110);
  EXPECT_EQ(run.failure_, "");
  run.arbiter_.look_at_time(112);
  EXPECT_EQ(run.failure_, "a server is missing, for 10 s");
  run.arbiter_.look_at_time(113);  // and not again
}

TEST(Arbiter, LendsInTheOrderOfWorkersWhoeverCameFirst) {
  Servers run({.workers = 3, .batches = 12});
  for (const int worker : {2, 0, 1}) run.arrive(worker);
  run.arbiter_.lend_ahead();
  EXPECT_EQ(run.lent_[0], (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(run.lent_[1], (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(run.lent_[2], (std::vector<std::int64_t>{2, 5}));
}

TEST(Arbiter, LendsARoundInTheOrderOfWorkersWhoeverEndedFirst) {
  Servers run({.workers = 3, .batches = 12});
  run.round_ = 3;
  for (const int worker : {0, 1, 2}) run.arrive(worker);
  for (const int worker : {2, 0, 1, 1, 2, 0, 0, 2, 1}) run.push(worker);
  for (int worker = 0; worker < 3; ++worker)
    EXPECT_EQ(run.lent_[worker], (std::vector<std::int64_t>{worker, 3 + worker, 6 + worker, 9 + worker}));
}

// The first server had the commit of a worker that died before the second had it: one took the gradient, the
// other did not.
TEST(Arbiter, AGradientCountsWhenEveryServerHasIt) {
  Servers run({.servers = 2, .workers = 1, .batches = 10});
  run.arrive(0);
  run.push(0, 0);
  EXPECT_EQ(run.ledger().updates(), 0);
  run.die(0, 1);
  run.arbiter_.prepared(1, 0, 1, 0, {});  // too late: it is decided
  EXPECT_EQ(run.ledger().updates(), 0);
  run.arrive(0);
  EXPECT_EQ(run.clocks_[0], 0u) << "its gradient is to be made again";
  run.push(0);
  EXPECT_EQ(run.ledger().updates(), 1);
}

TEST(Arbiter, WhatABadGradientWasMadeOfIsLentAgain) {
  Servers run({.workers = 2, .batches = 2});
  run.arrive(0);
  run.arrive(1);
  run.arbiter_.prepared(0, 0, run.epochs_[0], 0, 7u);
  run.arbiter_.settle();
  EXPECT_FALSE(run.epochs_.contains(0));
  EXPECT_NE(run.events_.back().reason.find("key 7"), std::string::npos);
  EXPECT_FALSE(run.events_.back().may_return);
  run.push(1);
  run.push(1);
  EXPECT_TRUE(run.finished_);
  EXPECT_EQ(run.failure_, "");
}

TEST(Arbiter, WhoHasNoBatchRestsAndComesBackForWhatADeadOneLeft) {
  Servers run({.workers = 2, .batches = 3});
  run.arrive(0);
  run.arrive(1);
  run.push(0);
  run.push(1);  // nothing is left for it
  EXPECT_EQ(run.resting_, (std::set<int>{1}));
  run.die(0);
  EXPECT_TRUE(run.resting_.empty());
  EXPECT_EQ(run.computing_, (std::set<int>{1}));
  run.push(1);
  EXPECT_TRUE(run.finished_);
  EXPECT_TRUE(run.done_.contains(1));
}

TEST(Arbiter, EndsWhenTooFewWorkersAreThereForTooLong) {
  Servers run({.workers = 2, .least_workers = 2, .patience_seconds = 10, .batches = 100});
  run.arrive(0);
  run.arrive(1);
  run.arbiter_.look_at_time(5);
  run.die(1);
  run.arbiter_.look_at_time(14);
  EXPECT_FALSE(run.finished_);
  run.arbiter_.look_at_time(15.5);
  EXPECT_TRUE(run.finished_);
  EXPECT_NE(run.failure_.find("1 of at least 2 workers"), std::string::npos) << run.failure_;
  run.push(0);
  EXPECT_EQ(run.ledger().updates(), 0) << "it was said how many there are";
}

TEST(Arbiter, HaltedWorkersEndWithWhatTheyDo) {
  Servers run({.workers = 2, .batches = 100});
  run.arrive(0);
  run.arrive(1);
  run.arbiter_.halt();
  run.arbiter_.settle();
  EXPECT_FALSE(run.finished_);
  run.push(0);
  EXPECT_FALSE(run.computing_.contains(0));
  run.push(1);
  EXPECT_TRUE(run.finished_);
  EXPECT_EQ(run.ledger().updates(), 2);
  EXPECT_EQ(run.done_, (std::set<int>{0, 1}));
}

// It came again, is let go on by the mode and not by the halt; the other one is held back until it commits.
TEST(Arbiter, HaltedWorkersDoNotWaitForOneThatIsNotLetGoOn) {
  Servers run({.workers = 2, .batches = 100});
  run.round_ = 2;
  run.arrive(0);
  run.arrive(1);
  run.die(1);
  run.arbiter_.halt();
  run.arrive(1);
  EXPECT_FALSE(run.finished_) << "worker 0 computes";
  run.push(0);
  EXPECT_TRUE(run.finished_);
  EXPECT_EQ(run.failure_, "");
  EXPECT_EQ(run.done_, (std::set<int>{0, 1}));
}

// Every batch is used exactly once, and the run ends, whoever dies when; with servers that go, too.
TEST(Arbiter, ChanceCannotLoseABatch) {
  constexpr std::int64_t kBatches = 300;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Philox random(seed, 2);
    std::uint64_t drawn = 0;
    const auto draw = [&](std::uint32_t below) { return static_cast<int>(random.word(drawn++) % below); };
    const int workers = 1 + draw(4), servers = 1 + draw(3);
    Servers run({.servers = servers, .workers = workers, .batches = kBatches});
    for (int worker = 0; worker < workers; ++worker) run.arrive(worker);
    for (int step = 0; step < 20000 && !run.finished_; ++step) {
      const int worker = draw(static_cast<std::uint32_t>(workers + 1));
      if (!run.epochs_.contains(worker)) {
        run.arrive(worker);
      } else if (draw(40) == 0) {
        run.die(worker, draw(static_cast<std::uint32_t>(servers)));
      } else if (draw(400) == 0) {
        run.arbiter_.suspend(0);
        run.epochs_.clear();
        run.computing_.clear();
        run.resting_.clear();
        run.started_ = false;
        run.arbiter_.begin(0);
      } else if (run.computing_.contains(worker)) {
        run.push(worker);
      }
    }
    EXPECT_TRUE(run.finished_) << "seed " << seed;
    EXPECT_EQ(run.ledger().updates(), kBatches) << "seed " << seed;  // the ledger refuses any twice
    EXPECT_EQ(run.ledger().next_batch(), kBatches);
  }
}

}  // namespace
}  // namespace trainyard::ps
