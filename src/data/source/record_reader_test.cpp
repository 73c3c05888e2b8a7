#include "data/source/record_reader.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/source/test_set.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kWindows[] = {0, 1, 7, 64};

std::vector<std::int64_t> epoch_of(const RecordOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < order.size(); ++i) ids.push_back(order.id(epoch * order.size() + i));
  return ids;
}

TEST(RecordOrder, EveryEpochIsAPermutation) {
  for (std::int64_t size = 1; size <= 200; ++size)
    for (const std::int64_t window : kWindows) {
      const RecordOrder order(3, size, window, true);
      std::vector<std::int64_t> all(static_cast<std::size_t>(size));
      std::iota(all.begin(), all.end(), 0);
      for (const std::int64_t epoch : {0, 1, 1000}) {
        std::vector<std::int64_t> ids = epoch_of(order, epoch);
        std::sort(ids.begin(), ids.end());
        ASSERT_EQ(ids, all) << "size " << size << ", window " << window << ", epoch " << epoch;
      }
    }
}

TEST(RecordOrder, EpochsAndSeedsDiffer) {
  for (const std::int64_t window : kWindows) {
    const RecordOrder order(3, 100, window, true), other(4, 100, window, true);
    EXPECT_NE(epoch_of(order, 0), epoch_of(order, 1)) << window;
    EXPECT_NE(epoch_of(order, 0), epoch_of(other, 0)) << window;
  }
}

TEST(RecordOrder, WindowsHoldNeighbours) {
  constexpr std::int64_t kSize = 1000, kWindow = 64;
  const RecordOrder order(3, kSize, kWindow, true);
  for (const std::int64_t epoch : {0, 5}) {
    const std::vector<std::int64_t> ids = epoch_of(order, epoch);
    for (std::int64_t first = 0; first < kSize; first += kWindow) {
      const auto begin = ids.begin() + first, end = ids.begin() + std::min(first + kWindow, kSize);
      // Around the end of the set too: distances from the first, on a circle.
      std::int64_t least = 0, most = 0;
      for (auto id = begin; id != end; ++id) {
        const std::int64_t ahead = (*id - *begin + kSize + kSize / 2) % kSize - kSize / 2;
        least = std::min(least, ahead);
        most = std::max(most, ahead);
      }
      EXPECT_LT(most - least, kWindow) << first;
    }
  }
}

TEST(RecordOrder, WithoutShufflingItIsThatOfTheFiles) {
  const RecordOrder order(3, 5, 2, false);
  EXPECT_EQ(epoch_of(order, 7), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

std::string text_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.encoded.data()), record.encoded.size()};
}

std::shared_ptr<const RecordSet> made_up_set(const TestFolder& folder, std::int64_t records, int shards = 1) {
  write_made_up_set(folder.path(), records, shards);
  return RecordSet::open(folder.path(), "train", Damage::refuse);
}

std::vector<std::int64_t> ids_of(RecordReader& reader) {
  std::vector<std::int64_t> ids;
  while (const std::optional<Record> record = reader.next()) ids.push_back(record->id);
  return ids;
}

TEST(RecordSet, HasWhatWasWritten) {
  const TestFolder folder;
  const auto set = made_up_set(folder, 23, 4);
  ASSERT_EQ(set->size(), 23);
  EXPECT_EQ(set->lost_bytes(), 0);
  for (std::int64_t id = 0; id < 23; ++id) {
    const Record record = set->read(id);
    EXPECT_EQ(record.id, id);
    EXPECT_EQ(record.label, id % 7);
    EXPECT_EQ(text_of(record), made_up_image(id));
  }
}

TEST(RecordSet, KnowsWhatIsInIt) {
  const TestFolder folder;
  const SetInfo info = made_up_set(folder, 23, 4)->info(true);
  EXPECT_TRUE(info.whole());
  ASSERT_EQ(info.shards.size(), 4u);
  EXPECT_EQ(info.shards[0].file, "made-up-train-00000-of-00004.tfrecord");
  EXPECT_EQ(info.shards[0].records, 5);
  EXPECT_EQ(info.shards[3].records, 6);
  EXPECT_EQ(info.records, 23);
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    bytes += static_cast<std::int64_t>(entry.file_size());
  EXPECT_EQ(info.bytes, bytes);
  EXPECT_EQ(info.labels.size(), 7u);
  EXPECT_EQ(info.labels.at(6), 3);
  EXPECT_EQ(info.formats, (std::map<std::string, std::int64_t>{{"png", 23}}));
  EXPECT_EQ(info.height.least, 4);
  EXPECT_EQ(info.height.most, 6);
  EXPECT_EQ(info.width.least, 5);
}

TEST(RecordReader, SharesOfAnyNumberHaveEachRecordOnceAnEpoch) {
  // RecordOrder is tested for every size; here every third of the larger ones will do.
  for (std::int64_t size = 1; size <= 200; size += size < 64 ? 1 : 3) {
    const TestFolder folder;
    const auto set = RecordSet::open(folder.write("a.tfrecord", made_up_shard(size)), "", Damage::refuse);
    for (const std::int64_t window : {0, 1, 7, 64})
      for (std::int32_t shares = 1; shares <= 8; ++shares) {
        const std::int32_t epochs = size % 8 == 1 ? 2 : 1;  // two take their time
        std::vector<std::vector<int>> seen(static_cast<std::size_t>(epochs),
                                           std::vector<int>(static_cast<std::size_t>(size)));
        for (std::int32_t share = 0; share < shares; ++share) {
          RecordReader reader(
              set, {.seed = 9, .share = share, .shares = shares, .window = window, .epochs = epochs});
          while (const std::optional<Record> record = reader.next())
            ++seen.at(static_cast<std::size_t>(record->epoch)).at(static_cast<std::size_t>(record->id));
        }
        for (const std::vector<int>& epoch : seen)
          ASSERT_TRUE(std::all_of(epoch.begin(), epoch.end(), [](int times) { return times == 1; }))
              << size << " records, window " << window << ", " << shares << " shares";
      }
  }
}

TEST(RecordReader, GoesOnAnywhereWithTheSameTail) {
  const TestFolder folder;
  const auto set = made_up_set(folder, 37, 3);
  for (const std::int64_t window : {0, 7})
    for (std::int32_t shares : {1, 3, 5})
      for (std::int32_t share = 0; share < shares; ++share) {
        ReadOptions options{.share = share, .shares = shares, .window = window, .epochs = 3};
        RecordReader whole(set, options);
        std::vector<std::int64_t> positions, ids;
        for (;;) {
          positions.push_back(whole.position());
          const std::optional<Record> record = whole.next();
          if (!record) break;
          ids.push_back(record->id);
        }
        for (options.first_position = 0; options.first_position <= 3 * 37; ++options.first_position) {
          RecordReader resumed(set, options);
          const auto first = std::lower_bound(positions.begin(), positions.end(), options.first_position);
          ASSERT_EQ(resumed.position(), *first);
          ASSERT_EQ(ids_of(resumed),
                    std::vector<std::int64_t>(ids.begin() + (first - positions.begin()), ids.end()));
        }
      }
}

TEST(RecordReader, GivesEachRecordToOneThread) {
  const TestFolder folder;
  const auto set = made_up_set(folder, 500);
  RecordReader reader(set, {.epochs = 4});
  std::vector<std::vector<std::int64_t>> found(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<std::int64_t>& ids : found) threads.emplace_back([&] { ids = ids_of(reader); });
  }
  std::vector<int> times(500);
  for (const std::vector<std::int64_t>& ids : found)
    for (const std::int64_t id : ids) ++times[static_cast<std::size_t>(id)];
  EXPECT_EQ(times, std::vector<int>(500, 4));
  EXPECT_EQ(reader.position(), 4 * 500);
}

TEST(RecordReader, WithoutEndItCountsEpochs) {
  const TestFolder folder;
  const auto set = made_up_set(folder, 3);
  RecordReader reader(set, {.shuffle = false});
  for (int i = 0; i < 30; ++i) {
    const std::optional<Record> record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->id, i % 3);
    EXPECT_EQ(record->epoch, i / 3);
  }
}

TEST(RecordReader, RefusesOptionsOutOfRange) {
  const TestFolder folder;
  const auto set = made_up_set(folder, 3);
  expect_error(ErrorKind::config, "share 2 of 2", [&] { RecordReader(set, {.share = 2, .shares = 2}); });
  expect_error(ErrorKind::config, "share 0 of 0", [&] { RecordReader(set, {.shares = 0}); });
  expect_error(ErrorKind::config, "window -1", [&] { RecordReader(set, {.window = -1}); });
  expect_error(ErrorKind::config, "first position -4", [&] { RecordReader(set, {.first_position = -4}); });
}

}  // namespace

}  // namespace trainyard::data
