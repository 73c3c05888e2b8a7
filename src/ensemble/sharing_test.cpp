#include "ensemble/sharing.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/error.h"
#include "ensemble/member_stream.h"
#include "ensemble/test_sharing.h"
#include "record/settings.h"

namespace trainyard::ensemble {
namespace {

using comm::collective::Job;

struct Outcome {
  std::vector<std::unique_ptr<TestTaker>> members;
  std::vector<std::int64_t> made;
  std::atomic<std::int64_t> wasted = 0;  // blocks
};

// Member i wants wanted[i] samples.
void run_ensemble(Design design, int members, int preprocessors, const std::vector<std::int64_t>& wanted,
                  Outcome& outcome) {
  for (int i = 0; i < members; ++i)
    outcome.members.push_back(std::make_unique<TestTaker>(wanted[static_cast<std::size_t>(i)]));
  outcome.made.resize(static_cast<std::size_t>(members));
  comm::collective::run_thread_job(members, [&](Job& job) {
    const auto rank = static_cast<std::size_t>(job.rank());
    const bool alone = design == Design::baseline;
    TestMaker maker(alone ? 0 : job.rank(), alone ? 1 : preprocessors);
    Sharing sharing{
        .blocks = std::make_shared<BlockPool>(kTestSizes),
        .preprocessors = preprocessors,
        .patience_seconds = 20,
        .make = [&](SampleBlock& block) { return maker.make(block); },
        .waste = [&](SampleBlock&) { ++outcome.wasted; },
        .deliver = [&](OwnedBlock block) { return outcome.members[rank]->take(std::move(block)); }};
    share(design, sharing, job);
    outcome.made[rank] = maker.made();
  });
}

class EnsembleSharing : public testing::TestWithParam<Design> {};

TEST_P(EnsembleSharing, EveryMemberSeesEverySampleOnceAnEpoch) {
  for (int members = 1; members <= 8; ++members)
    for (int preprocessors = 1; preprocessors <= members; ++preprocessors) {
      if (!fits(GetParam(), members, preprocessors)) continue;
      SCOPED_TRACE(fmt::format("{} members, {} preprocess", members, preprocessors));
      Outcome outcome;
      run_ensemble(GetParam(), members, preprocessors, std::vector<std::int64_t>(8, kTestSamples + 1),
                   outcome);
      for (const auto& member : outcome.members) EXPECT_EQ(member->complaint(), "");
      const std::int64_t made = std::accumulate(outcome.made.begin(), outcome.made.end(), std::int64_t{0});
      EXPECT_EQ(made, GetParam() == Design::baseline ? members * kTestSamples : kTestSamples);
    }
}

TEST_P(EnsembleSharing, MembersMayStopAtUnlikeTimes) {
  for (const int members : {2, 5})
    for (const int preprocessors : {1, 2, members}) {
      if (!fits(GetParam(), members, preprocessors)) continue;
      std::vector<std::int64_t> wanted;
      for (int i = 0; i < members; ++i) wanted.push_back(1 + 60 * ((i * 3) % members));
      Outcome outcome;
      run_ensemble(GetParam(), members, preprocessors, wanted, outcome);
      for (const auto& member : outcome.members) EXPECT_EQ(member->complaint(), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Designs, EnsembleSharing,
                         testing::Values(Design::baseline, Design::all_shared, Design::single_broadcast,
                                         Design::multi_broadcast, Design::multi_broadcast_as_built),
                         [](const auto& row) {
                           std::string text = name(row.param);
                           std::erase(text, '-');
                           return text;
                         });

TEST(Sharing, TheTableOfSettingsHasEveryDesign) {
  EXPECT_EQ(record::setting_of("design", "ensemble").choices, design_names());
}

TEST(EnsembleSharings, WhereAllIsGatheredTheOrderIsTheSame) {
  for (const Design design : {Design::all_shared, Design::single_broadcast}) {
    Outcome outcome;
    run_ensemble(design, 4, design == Design::all_shared ? 4 : 2,
                 std::vector<std::int64_t>(4, kTestSamples + 1), outcome);
    for (const auto& member : outcome.members) EXPECT_EQ(member->order(), outcome.members[0]->order());
  }
}

// For each block of each channel the other preprocessors make one for nothing.
TEST(EnsembleSharings, AsBuiltMakesForNothing) {
  Outcome outcome;
  run_ensemble(Design::multi_broadcast_as_built, 5, 3, std::vector<std::int64_t>(5, kTestSamples + 1),
               outcome);
  EXPECT_GE(outcome.wasted, 2 * kTestSamples / kTestSizes.capacity);
  Outcome fixed;
  run_ensemble(Design::multi_broadcast, 5, 3, std::vector<std::int64_t>(5, kTestSamples + 1), fixed);
  EXPECT_EQ(fixed.wasted, 0);
}

TEST(EnsembleSharings, ARankThatDoesNotComeIsNamed) {
  for (const Design design : {Design::all_shared, Design::single_broadcast, Design::multi_broadcast}) {
    std::string said;
    try {
      comm::collective::run_thread_job(3, [&](Job& job) {
        TestMaker maker(job.rank(), design == Design::all_shared ? 3 : 2);
        bool died = false;
        Sharing sharing{.blocks = std::make_shared<BlockPool>(kTestSizes),
                        .preprocessors = design == Design::all_shared ? 3 : 2,
                        .patience_seconds = 0.3,
                        .make =
                            [&](SampleBlock& block) {
                              if (job.rank() == 1 && died) fail(ErrorKind::io, "gone");
                              died = true;
                              return maker.make(block);
                            },
                        .waste = {},
                        .deliver = [&](OwnedBlock) { return true; }};
        try {
          share(design, sharing, job);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::io) throw;
        }
      });
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_NE(said.find("rank 1"), std::string::npos) << name(design) << ": " << said;
  }
}

// Members that compute between blocks, and stop when they had enough.
TEST(MemberStream, PassesBlocksWhileTheMemberComputes) {
  for (const std::string& design : design_names()) {
    const Design which = *find_design(design);
    if (which == Design::shared_memory) continue;
    comm::collective::run_thread_job(3, [&](Job& job) {
      const int preprocessors = which == Design::all_shared ? 3 : which == Design::baseline ? 1 : 2;
      TestMaker maker(which == Design::baseline ? 0 : job.rank(), preprocessors);
      Sharing sharing{.blocks = std::make_shared<BlockPool>(kTestSizes),
                      .preprocessors = preprocessors,
                      .patience_seconds = 20,
                      .make = [&](SampleBlock& block) { return maker.make(block); },
                      .waste = [](SampleBlock&) {},
                      .deliver = {}};
      const auto stream = take_part(which, sharing, job, {4, 0});
      const std::int64_t wanted = job.rank() == 1 ? 50 : kTestSamples + 1;
      std::int64_t got = 0;
      while (const SampleBlock* block = got < wanted ? stream->next() : nullptr) {
        got += block->count();
        stream->release();
      }
      EXPECT_TRUE(job.rank() == 1 ? got >= 50 : got == kTestSamples)
          << design << " " << job.rank() << " " << got;
    });
  }
}

TEST(Designs, HaveNames) {
  for (const std::string& one : design_names()) EXPECT_EQ(name(*find_design(one)), one);
  EXPECT_EQ(find_design("shared"), std::nullopt);
}

}  // namespace
}  // namespace trainyard::ensemble
