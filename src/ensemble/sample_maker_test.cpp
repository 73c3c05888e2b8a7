#include "ensemble/sample_maker.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "ensemble/test_records.h"

namespace trainyard::ensemble {
namespace {

// Blocks until there are no more.
std::vector<SampleTag> make_all(SampleMaker& maker, std::int64_t capacity, std::int64_t sample_bytes) {
  BlockPool pool({capacity, sample_bytes});
  std::vector<SampleTag> tags;
  for (bool more = true; more;) {
    OwnedBlock block = pool.take();
    more = maker.make(*block);
    for (std::int64_t i = 0; i < block->count(); ++i) {
      tags.push_back(block->tag(i));
      EXPECT_EQ(block->pixels(i)[sample_bytes - 1], block->tag(i).id);
      EXPECT_EQ(block->tag(i).label, block->tag(i).id % kRecordClasses);
    }
  }
  return tags;
}

TEST(SampleMaker, MakesTheSameWhateverTheThreadsAndBlocks) {
  const TestFolder folder;
  write_test_records(folder.path(), 37);
  SampleSource source = test_source(folder.path());
  source.read.epochs = 3;
  SampleMaker one(source, 1);
  const std::vector<SampleTag> expected = make_all(one, 5, 64);
  ASSERT_EQ(expected.size(), 3u * 37u);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(expected[i].position, static_cast<std::int64_t>(i));
  for (const std::int64_t capacity : {1, 7, 64, 200}) {
    SampleMaker several(source, 3);
    EXPECT_EQ(make_all(several, capacity, 64), expected) << capacity;
  }
}

TEST(SampleMaker, SharesHaveEachSampleOnceAnEpoch) {
  const TestFolder folder;
  write_test_records(folder.path(), 23);
  std::map<std::pair<std::int32_t, std::int64_t>, int> times;
  for (int share = 0; share < 4; ++share) {
    SampleSource source = test_source(folder.path());
    source.read.epochs = 2;
    source.read.share = share;
    source.read.shares = 4;
    SampleMaker maker(source, 2);
    for (const SampleTag& tag : make_all(maker, 6, 64)) {
      EXPECT_EQ(tag.position % 4, share);
      ++times[{tag.epoch, tag.id}];
    }
  }
  EXPECT_EQ(times.size(), 2u * 23u);
  for (const auto& [which, count] : times) EXPECT_EQ(count, 1);
}

TEST(SampleMaker, ADamagedImageIsLeftOutAndCounted) {
  const TestFolder folder;
  write_test_records(folder.path(), 20, "train", 7);
  SampleSource source = test_source(folder.path());
  source.read.epochs = 1;
  SampleMaker maker(source, 2);
  const std::vector<SampleTag> tags = make_all(maker, 20, 64);
  EXPECT_EQ(tags.size(), 19u);
  for (const SampleTag& tag : tags) EXPECT_NE(tag.id, 7);
  EXPECT_EQ(maker.skipped(), 1);
  EXPECT_EQ(maker.made(), 19);
}

TEST(SampleMaker, ADamagedImageIsRefusedByItsNumber) {
  const TestFolder folder;
  write_test_records(folder.path(), 20, "train", 7);
  SampleSource source = test_source(folder.path(), data::Damage::refuse);
  source.read.epochs = 1;
  SampleMaker maker(source, 2);
  expect_error(ErrorKind::config, "record 7", [&] { make_all(maker, 20, 64); });
}

}  // namespace
}  // namespace trainyard::ensemble
