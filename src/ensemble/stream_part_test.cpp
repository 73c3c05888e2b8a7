#include "ensemble/stream_part.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "ensemble/test_records.h"
#include "ensemble/timed_member.h"

namespace trainyard::ensemble {
namespace {

using comm::collective::Job;

constexpr std::int64_t kPartRecords = 30;

StreamOptions part_options(const std::filesystem::path& folder, Design design, int members,
                           int preprocessors) {
  StreamOptions options;
  options.design = design;
  options.members = members;
  options.preprocessors = preprocessors;
  options.source = test_source(folder);
  options.block = 4;
  options.made = options.ahead = {.items = 2};
  options.patience.seconds = 20;
  return options;
}

// Takes so many samples and notes them; returns where that leaves it.
StreamPlace take(MemberStream& stream, StreamPlace place, std::int64_t wanted,
                 std::map<std::int64_t, int>& times) {
  while (wanted > 0) {
    const SampleBlock* block = stream.next();
    if (block == nullptr) {
      ADD_FAILURE() << "the stream ended";
      break;
    }
    for (std::int64_t i = 0; i < block->count() && wanted > 0; ++i) {
      const SampleTag& tag = block->tag(i);
      EXPECT_EQ(block->pixels(i)[0], tag.id);
      if (place.has_seen(tag.position)) continue;
      place.see(tag.position);
      ++times[tag.position];
      --wanted;
    }
    stream.release();
  }
  stream.leave();
  return place;
}

class EnsembleStreamPart : public testing::TestWithParam<Design> {};

// Members that were interrupted, each somewhere else, go on together.
TEST_P(EnsembleStreamPart, ResumedMembersSeeEachSampleOnce) {
  const TestFolder folder;
  write_test_records(folder.path(), kPartRecords);
  for (const int members : {1, 2, 3})
    for (int preprocessors = 1; preprocessors <= members; ++preprocessors) {
      const bool all = GetParam() == Design::all_shared;
      if (all != (preprocessors == members) && (all || GetParam() == Design::baseline)) continue;
      if (GetParam() == Design::baseline && preprocessors > 1) continue;
      SCOPED_TRACE(fmt::format("{} members, {} preprocess", members, preprocessors));
      const StreamOptions options = part_options(folder.path(), GetParam(), members, preprocessors);
      std::vector<StreamPlace> places(static_cast<std::size_t>(members), StreamPlace(options.shares()));
      std::vector<std::map<std::int64_t, int>> times(static_cast<std::size_t>(members));
      for (int round = 0; round < 3; ++round)
        comm::collective::run_thread_job(members, [&](Job& job) {
          const auto me = static_cast<std::size_t>(job.rank());
          StreamPart part(options, job, places[me]);
          places[me] = take(part.stream(), places[me], 13 + 4 * job.rank() + round, times[me]);
        });
      for (std::size_t member = 0; member < times.size(); ++member) {
        std::int64_t whole = kPartRecords;  // what comes before the first gap
        for (const auto& [position, count] : times[member]) EXPECT_EQ(count, 1) << position;
        for (const std::int64_t next : places[member].next()) whole = std::min(whole, next);
        for (std::int64_t position = 0; position < whole; ++position)
          EXPECT_EQ(times[member].count(position), 1u) << position;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Designs, EnsembleStreamPart,
                         testing::Values(Design::baseline, Design::all_shared, Design::single_broadcast,
                                         Design::multi_broadcast, Design::multi_broadcast_as_built));

TEST(EnsembleStreamPart, AsBuiltMakesForEveryBlockOfAnother) {
  const TestFolder folder;
  write_test_records(folder.path(), kPartRecords);
  for (const bool as_built : {false, true}) {
    const StreamOptions options = part_options(
        folder.path(), as_built ? Design::multi_broadcast_as_built : Design::multi_broadcast, 3, 3);
    std::vector<std::int64_t> made(3);
    comm::collective::run_thread_job(3, [&](Job& job) {
      std::map<std::int64_t, int> times;
      StreamPart part(options, job, StreamPlace(3));
      take(part.stream(), StreamPlace(3), 600, times);
      made[static_cast<std::size_t>(job.rank())] = part.images_made();
    });
    // Samples that remain in queues at the end count as made, too.
    const std::int64_t all = made[0] + made[1] + made[2];
    EXPECT_GE(all, as_built ? 3 * 600 : 600);
    EXPECT_LE(all, as_built ? 3 * 600 + 300 : 600 + 150);
  }
}

TEST(EnsembleStreamPart, WhatIsWrittenInPlaceIsReadOnceByEach) {
  const TestFolder folder;
  write_test_records(folder.path(), kPartRecords);
  const StreamOptions options = part_options(folder.path(), Design::shared_memory, 3, 1);
  std::vector<std::map<std::int64_t, int>> times(3);
  std::vector<std::jthread> members;
  const WrittenSamples written = write_in_place(
      options, 5,
      [&](const std::string& address) {
        for (int i = 0; i < 3; ++i)
          members.emplace_back([&, address, i] {
            const auto stream = read_in_place(std::make_shared<SharedReader>(address, i), 20);
            take(*stream, StreamPlace(1), 40 + 10 * i, times[static_cast<std::size_t>(i)]);
          });
      },
      [](const std::string& remark) { ADD_FAILURE() << remark; }, [] { return false; });
  members.clear();
  EXPECT_GE(written.made, 60);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(times[i].size(), 40 + 10 * i);
    EXPECT_EQ(times[i].begin()->first, 5);
    EXPECT_EQ(times[i].rbegin()->first, static_cast<std::int64_t>(44 + 10 * i));
  }
}

TEST(EnsembleTimedMember, TakesAsLongAsItsDevice) {
  const TestFolder folder;
  write_test_records(folder.path(), kPartRecords);
  const StreamOptions options = part_options(folder.path(), Design::baseline, 1, 1);
  comm::collective::run_thread_job(1, [&](Job& job) {
    StreamPart part(options, job, StreamPlace(1));
    const TimedMemberResult result = run_timed_member(
        part.stream(), StreamPlace(1),
        {.batch = 5, .steps = 20, .images_per_second = 500, .stopped = [] { return false; }});
    ASSERT_EQ(result.step_seconds.size(), 20u);
    double seconds = 0;
    for (const double step : result.step_seconds) seconds += step;
    EXPECT_GE(seconds, 0.19);
  });
}

}  // namespace
}  // namespace trainyard::ensemble
