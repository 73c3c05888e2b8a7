// Tests the rules of each mode, without a network: workers are moved by hand, or at random.
#include "ps/mode/mode.h"

#include <deque>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "ps/mode/test_modes.h"

namespace trainyard::ps {
namespace {

constexpr std::int64_t kModeElements = 3;

// Parameters that gradients are taken off, and what becomes of workers.
class Board final : public Mode::Host {
 public:
  explicit Board(const std::string& mode)
      : mode_(make_mode(ModeName::parse(mode), *this, kModeElements)), parameters_(kModeElements, 0.0f) {}

  void apply(std::span<const float> gradient, int) override {
    for (std::size_t i = 0; i < gradient.size(); ++i) parameters_[i] += gradient[i];
    ++version_;
  }
  void apply_beside(int, Mode::Gradient gradient, std::function<void()> done) override {
    beside_.push_back({std::move(gradient), std::move(done)});
  }
  void release(int worker) override {
    EXPECT_FALSE(running_.contains(worker)) << "released twice";
    running_[worker] = version_;
  }

  void join(int worker) { mode_->join(worker); }
  void start() { mode_->start(); }
  void leave(int worker) {
    running_.erase(worker);
    mode_->leave(worker);
  }
  void commit(int worker, std::vector<float> gradient) {
    ASSERT_EQ(running_.count(worker), 1u);
    running_.erase(worker);
    struct Owned {
      std::vector<float> numbers;
      Buffer buffer;
    };
    const auto owned = std::make_shared<Owned>(Owned{std::move(gradient), {}});
    owned->buffer.values = owned->numbers;
    mode_->commit(worker, Mode::Gradient(owned, &owned->buffer));
  }
  void commit(int worker, float value) { commit(worker, std::vector<float>(kModeElements, value)); }

  bool runs(int worker) const { return running_.contains(worker); }
  std::int64_t weights_of(int worker) const { return running_.at(worker); }  // their version
  float value() const { return parameters_[0]; }
  std::int64_t version() const { return version_; }
  std::size_t beside() const { return beside_.size(); }
  void apply_one_beside() {
    const auto [gradient, done] = std::move(beside_.front());
    beside_.pop_front();
    apply(gradient->values, 1);
    done();
  }

 private:
  std::unique_ptr<Mode> mode_;
  std::vector<float> parameters_;
  std::deque<std::pair<Mode::Gradient, std::function<void()>>> beside_;
  std::map<int, std::int64_t> running_;
  std::int64_t version_ = 0;
};

TEST(ModeNames, AreReadAndWritten) {
  for (const char* text :
       {"bsp", "bsp:sum", "asp", "ssp:0", "ssp:12", "ssp:2147483647", "lazy", "lazy-locked", "hogwild"})
    EXPECT_EQ(ModeName::parse(text).to_string(), text);
  EXPECT_EQ(ModeName::parse("bsp:mean").to_string(), "bsp");
  for (const char* text :
       {"", "sync", "ssp", "ssp:", "ssp:-1", "ssp:x", "ssp:1x", "ssp:N", "ssp:2147483648", "bsp:", "asp:1"})
    EXPECT_THROW(ModeName::parse(text), Error) << text;
}

TEST(ModeNames, EveryRowOfTheListIsReadWrittenAndExplained) {
  for (const ModeRow& row : all_modes()) {
    const ModeName name{.row = &row, .number = row.takes_number ? 7 : 0};
    const std::optional<ModeName> found = find_mode(name.to_string());
    ASSERT_TRUE(found.has_value()) << row.word;
    EXPECT_EQ(found->row, &row) << "another row has its word, too";
    EXPECT_EQ(found->number, name.number);
    EXPECT_EQ(is_mode(row.word), !row.takes_number);
    EXPECT_NE(mode_help().find(row.help), std::string::npos);
  }
  EXPECT_EQ(mode_words().size(), all_modes().size());
}

TEST(ModeNames, TheyTellWhetherWorkersGoInRounds) {
  for (const char* text : {"bsp", "bsp:sum", "ssp:0"}) EXPECT_TRUE(ModeName::parse(text).in_rounds()) << text;
  for (const char* text : {"ssp:1", "asp", "lazy", "hogwild"})
    EXPECT_FALSE(ModeName::parse(text).in_rounds()) << text;
}

TEST(Bsp, NobodyGoesOnBeforeTheRoundIsComplete) {
  Board board("bsp");
  for (const int worker : {0, 1, 2}) board.join(worker);
  EXPECT_FALSE(board.runs(0));
  board.start();
  board.commit(2, 3);
  board.commit(0, 6);
  EXPECT_EQ(board.version(), 0);
  EXPECT_FALSE(board.runs(0));
  board.commit(1, 9);
  EXPECT_EQ(board.version(), 1);
  EXPECT_EQ(board.value(), 6);  // the mean
  for (const int worker : {0, 1, 2}) EXPECT_EQ(board.weights_of(worker), 1);
}

TEST(Bsp, SumsWhenAskedTo) {
  Board board("bsp:sum");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(0, 2);
  board.commit(1, 3);
  EXPECT_EQ(board.value(), 5);
}

// The seed added gradients as they came: the bits of a run depended on which worker was faster.
TEST(Bsp, TheOrderOfArrivalDoesNotMatter) {
  const float values[] = {1e8f, 1.0f, -1e8f, 0.3f};
  std::vector<int> order{0, 1, 2, 3};
  std::set<float> results;
  do {
    Board board("bsp:sum");
    for (const int worker : order) board.join(worker);
    board.start();
    for (const int worker : order) board.commit(worker, values[worker]);
    results.insert(board.value());
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(results.size(), 1u);
  EXPECT_EQ(*results.begin(), ((1e8f + 1.0f) + -1e8f) + 0.3f);
}

// The seed's flag: a fast worker came again while the flag of the last round still stood, got old weights,
// and let the round go while another still waited.
TEST(Bsp, AFastWorkerCannotBeOfTwoRounds) {
  Board board("bsp:sum");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  for (int round = 0; round < 100; ++round) {
    board.commit(0, 1);
    EXPECT_FALSE(board.runs(0)) << "it could come again";
    board.commit(1, 1);
    EXPECT_EQ(board.version(), round + 1);
    EXPECT_EQ(board.weights_of(0), round + 1);
    EXPECT_EQ(board.weights_of(1), round + 1);
  }
}

TEST(Bsp, ARoundEndsWithoutAWorkerThatLeft) {
  Board board("bsp");
  for (const int worker : {0, 1, 2}) board.join(worker);
  board.start();
  board.commit(0, 4);
  board.commit(1, 8);
  board.leave(2);
  EXPECT_EQ(board.version(), 1);
  EXPECT_EQ(board.value(), 6);
  EXPECT_TRUE(board.runs(0) && board.runs(1));
}

TEST(Bsp, WhatAWorkerCommittedBeforeItLeftCounts) {
  Board board("bsp:sum");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(1, 8);
  board.leave(1);
  EXPECT_EQ(board.version(), 0);
  board.commit(0, 4);
  EXPECT_EQ(board.value(), 12);
  EXPECT_FALSE(board.runs(1));
}

TEST(Bsp, TheLastOneOfARoundMayLeaveWithOthersCommitted) {
  Board board("bsp:sum");
  board.join(0);
  board.start();
  board.commit(0, 1);
  EXPECT_TRUE(board.runs(0));
  board.leave(0);
  EXPECT_EQ(board.value(), 1);
  board.join(3);
  EXPECT_EQ(board.weights_of(3), 1) << "nobody else is there: it need not wait";
}

TEST(Bsp, WhoJoinsLaterIsCountedFromTheNextRound) {
  Board board("bsp:sum");
  board.join(0);
  board.start();
  board.join(1);
  EXPECT_FALSE(board.runs(1));
  board.commit(0, 1);
  EXPECT_EQ(board.weights_of(1), 1);
  board.commit(0, 1);
  EXPECT_EQ(board.version(), 1) << "it is waited for";
  board.commit(1, 1);
  EXPECT_EQ(board.version(), 2);
}

TEST(Asp, EveryGradientIsAppliedAtOnce) {
  Board board("asp");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(0, 1);
  EXPECT_EQ(board.weights_of(0), 1) << "its own gradient is in the weights it gets";
  board.commit(0, 1);
  board.commit(0, 1);
  EXPECT_EQ(board.weights_of(1), 0);
  board.commit(1, 1);
  EXPECT_EQ(board.weights_of(1), 4);
  EXPECT_EQ(board.value(), 4);
  board.join(2);
  EXPECT_EQ(board.weights_of(2), 4);
}

TEST(Ssp, TheFastestWaitsForTheSlowest) {
  Board board("ssp:2");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(0, 1);
  board.commit(0, 1);
  EXPECT_TRUE(board.runs(0)) << "two ahead is allowed";
  board.commit(0, 1);
  EXPECT_FALSE(board.runs(0));
  board.commit(1, 1);
  EXPECT_TRUE(board.runs(0));
  EXPECT_EQ(board.weights_of(0), 4) << "with all that came while it waited";
}

TEST(Ssp, NobodyWaitsForWhoLeft) {
  Board board("ssp:1");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(0, 1);
  board.commit(0, 1);
  EXPECT_FALSE(board.runs(0));
  board.leave(1);
  EXPECT_TRUE(board.runs(0));
}

TEST(Ssp, WhoJoinsLaterHoldsNobodyUp) {
  Board board("ssp:1");
  board.join(0);
  board.start();
  for (int i = 0; i < 10; ++i) board.commit(0, 1);
  board.join(1);
  EXPECT_TRUE(board.runs(1));
  board.commit(0, 1);
  EXPECT_TRUE(board.runs(0)) << "one ahead of the new one";
}

TEST(Lazy, AWorkerGoesOnBeforeItsGradientIsApplied) {
  Board board("lazy");
  for (const int worker : {0, 1}) board.join(worker);
  board.start();
  board.commit(0, 1);
  EXPECT_EQ(board.weights_of(0), 0);
  board.apply_one_beside();
  board.commit(1, 1);
  EXPECT_EQ(board.weights_of(1), 1) << "the newest there is";
  board.apply_one_beside();
  EXPECT_EQ(board.value(), 2);
}

// The seed's queue had no end: a server that could not keep up took ever older gradients.
TEST(Lazy, TheQueueHasABound) {
  Board board("lazy");
  for (int worker = 0; worker < 20; ++worker) board.join(worker);
  board.start();
  for (int worker = 0; worker < 20; ++worker) board.commit(worker, 1);
  int running = 0;
  for (int worker = 0; worker < 20; ++worker) running += board.runs(worker) ? 1 : 0;
  EXPECT_EQ(running, 7) << "the eighth in the queue, and all behind it, wait";
  board.apply_one_beside();
  EXPECT_TRUE(board.runs(7)) << "who waited longest";
  EXPECT_FALSE(board.runs(8));
  while (board.beside() > 0) board.apply_one_beside();
  for (int worker = 0; worker < 20; ++worker) EXPECT_TRUE(board.runs(worker));
  EXPECT_EQ(board.value(), 20);
}

TEST(Lazy, WhoLeftIsNotLetGoOn) {
  Board board("lazy");
  for (int worker = 0; worker < 9; ++worker) board.join(worker);
  board.start();
  for (int worker = 0; worker < 9; ++worker) board.commit(worker, 1);
  board.leave(7);
  board.apply_one_beside();
  EXPECT_FALSE(board.runs(7));
  EXPECT_TRUE(board.runs(8));
}

// A random schedule: workers stall, leave and join; what table 4.1 of the spec asks of a mode always holds.
class RandomSchedule : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(RandomSchedule, KeepsTheInvariants) {
  const auto& [mode, seed] = GetParam();
  const Philox random(static_cast<std::uint64_t>(seed), 77);
  std::uint64_t drawn = 0;
  const auto draw = [&](int below) {
    return static_cast<int>(random.word(drawn++) % static_cast<unsigned>(below));
  };
  const ModeName name = ModeName::parse(mode);
  Board board(mode);
  std::map<int, std::int64_t> clocks;  // of live workers
  const auto slowest = [&] {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [worker, clock] : clocks) least = std::min(least, clock);
    return least;
  };
  for (int worker = 0; worker < 4; ++worker) {
    board.join(worker);
    clocks[worker] = 0;
  }
  board.start();
  int next_worker = 4;
  std::int64_t committed = 0;
  for (int event = 0; event < 3000; ++event) {
    const int what = draw(100);
    if (what == 0 && clocks.size() > 1) {
      const auto gone = std::next(clocks.begin(), draw(static_cast<int>(clocks.size())));
      const int worker = gone->first;
      clocks.erase(gone);
      board.leave(worker);
    } else if (what == 1 && clocks.size() < 6) {
      clocks[next_worker] = slowest();
      board.join(next_worker++);
    } else {
      if (board.beside() > 0 && draw(2) == 0) board.apply_one_beside();
      std::vector<int> running;
      for (const auto& [worker, clock] : clocks)
        if (board.runs(worker)) running.push_back(worker);
      ASSERT_FALSE(running.empty() && board.beside() == 0) << "nobody may go on: a deadlock";
      if (running.empty()) continue;
      const int worker = running[static_cast<std::size_t>(draw(static_cast<int>(running.size())))];
      // Everyone who computes has weights that the mode allows.
      if (name.row->pace == Pace::bounded) {
        EXPECT_LE(clocks[worker] - slowest(), name.number);
      }
      if (name.in_rounds()) {
        EXPECT_EQ(board.weights_of(worker), board.version());
      }
      ++clocks[worker];
      ++committed;
      board.commit(worker, 1);
      if (!name.in_rounds()) {
        EXPECT_EQ(board.value() + static_cast<float>(board.beside()), static_cast<float>(committed));
      }
    }
  }
  // Integer gradients: each that was committed is in the sum, once; those of a round under way come with it.
  if (name.in_rounds()) {
    EXPECT_LE(board.value(), static_cast<float>(committed));
    EXPECT_GE(board.value(), static_cast<float>(committed) - 6);
  }
}

std::string schedule_name(const testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  return test_name(fmt::format("{}_{}", std::get<0>(test.param), std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomSchedule,
                         testing::Combine(testing::ValuesIn(summing_modes(1, true)), testing::Range(0, 8)),
                         schedule_name);
INSTANTIATE_TEST_SUITE_P(Bounded, RandomSchedule,
                         testing::Combine(testing::Values("ssp:3"), testing::Range(0, 8)), schedule_name);

TEST(Ssp, WithABoundOfZeroIsBsp) {
  Board ssp("ssp:0"), bsp("bsp");
  const Philox random(3, 4);
  for (Board* board : {&ssp, &bsp}) {
    for (const int worker : {0, 1, 2}) board->join(worker);
    board->start();
    for (int round = 0; round < 50; ++round)
      for (const int worker : {round % 3, (round + 1) % 3, (round + 2) % 3}) {
        const auto word = static_cast<std::uint64_t>(round * 3 + worker);
        board->commit(worker, to_unit_float(random.word(word)) - 0.5f);
      }
  }
  EXPECT_EQ(ssp.value(), bsp.value());
  EXPECT_EQ(ssp.version(), bsp.version());
}

}  // namespace
}  // namespace trainyard::ps
