// These tests read record files that were changed after they were written.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/test_folder.h"
#include "data/source/record_example.h"
#include "data/source/record_reader.h"
#include "data/source/record_writer.h"
#include "data/source/test_set.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kRecords = 20;

class RecordDamage : public testing::Test {
 protected:
  RecordDamage() {
    write_made_up_set(folder_.path(), kRecords, 2);
    for (std::int64_t at = 0; at < static_cast<std::int64_t>(content_of(file()).size());) {
      offsets_.push_back(static_cast<std::size_t>(at));
      at += static_cast<std::int64_t>(
          first_frame(content_of(file()).substr(static_cast<std::size_t>(at)))->bytes());
    }
  }

  // The first shard has the records 0 to 9.
  std::filesystem::path file() const { return folder_.path() / "made-up-train-00000-of-00002.tfrecord"; }
  std::size_t offset(std::size_t record) const { return offsets_[record]; }

  void flip(std::size_t byte) const {
    std::string content = content_of(file());
    content[byte] = static_cast<char>(content[byte] ^ 0x10);
    overwrite(file(), content);
  }

  std::shared_ptr<const RecordSet> open(Damage damage) const {
    return RecordSet::open(folder_.path(), "train", damage);
  }

  // Ids of one epoch in order; each record is as it was written.
  std::vector<std::int64_t> readable(RecordReader& reader, std::int64_t lost_before_second = 0) const {
    std::vector<std::int64_t> ids;
    while (const std::optional<Record> record = reader.next()) {
      ids.push_back(record->id);
      const std::int64_t written =
          record->id >= 10 - lost_before_second ? record->id + lost_before_second : record->id;
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(record->encoded.data()), record->encoded.size()),
                made_up_image(written));
    }
    return ids;
  }

  const TestFolder folder_;
  std::vector<std::size_t> offsets_;
};

TEST_F(RecordDamage, ADamagedPayloadIsSkippedOrRefused) {
  const std::size_t behind = offset(4);  // the last four bytes before it are the CRC of record 3
  for (const std::size_t byte :
       {offset(3) + kFrameHeadBytes, behind - 10, behind - kFrameTailBytes, behind - 1}) {
    SCOPED_TRACE(byte);
    flip(byte);
    const auto set = open(Damage::refuse);  // lengths do not tell
    EXPECT_EQ(set->size(), kRecords);
    const std::string message = fmt::format(
        "'{}': record at byte {}: its content does not agree with its checksum", file().string(), offset(3));
    expect_error(ErrorKind::config, message, [&] { set->read(3); });
    RecordReader skipping(set, {.epochs = 2, .shuffle = false});
    EXPECT_EQ(readable(skipping).size(), 2u * (kRecords - 1));
    EXPECT_EQ(skipping.skipped(), 2);
    RecordReader refusing(set, {.epochs = 1, .shuffle = false, .damage = Damage::refuse});
    expect_error(ErrorKind::config, message, [&] { readable(refusing); });
    const SetInfo info = set->info(true);
    EXPECT_EQ(info.damaged, 1);
    EXPECT_FALSE(info.whole());
    ASSERT_EQ(info.damage.size(), 1u);
    EXPECT_EQ(info.damage[0], message);
    flip(byte);
  }
}

TEST_F(RecordDamage, ADamagedLengthLosesTheRestOfItsShard) {
  for (const std::size_t byte : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{11}}) {
    SCOPED_TRACE(byte);
    flip(offset(6) + byte);
    const auto lost = static_cast<std::int64_t>(content_of(file()).size() - offset(6));
    expect_error(
        ErrorKind::config,
        fmt::format("'{}': record at byte {}: its length does not agree with its checksum; {} bytes are lost",
                    file().string(), offset(6), lost),
        [&] { open(Damage::refuse); });
    const auto set = open(Damage::skip);
    EXPECT_EQ(set->size(), kRecords - 4);
    EXPECT_EQ(set->lost_bytes(), lost);
    EXPECT_EQ(set->info(false).lost_bytes, lost);
    RecordReader reader(set, {.epochs = 1});
    EXPECT_EQ(readable(reader, 4).size(), static_cast<std::size_t>(kRecords) - 4);
    flip(offset(6) + byte);
  }
}

TEST_F(RecordDamage, ACutFileHasWhatIsWhole) {
  const std::string whole = content_of(file());
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 5) {
    SCOPED_TRACE(bytes);
    overwrite(file(), whole.substr(0, bytes));
    const auto complete = static_cast<std::int64_t>(
                              std::upper_bound(offsets_.begin(), offsets_.end(), bytes) - offsets_.begin()) -
                          1;
    const auto set = open(Damage::skip);
    EXPECT_EQ(set->size(), complete + 10);
    const auto lost = static_cast<std::int64_t>(bytes - offset(static_cast<std::size_t>(complete)));
    EXPECT_EQ(set->lost_bytes(), lost);
    if (lost > 0)
      expect_error(ErrorKind::config, "the file ends within the record", [&] { open(Damage::refuse); });
    RecordReader reader(set, {.epochs = 1});
    readable(reader, 10 - complete);
    EXPECT_EQ(reader.skipped(), 0);
  }
}

TEST_F(RecordDamage, AMissingShardIsTold) {
  std::filesystem::remove(file());
  EXPECT_EQ(open(Damage::skip)->size(), 10);
  EXPECT_EQ(open(Damage::skip)->info(false).missing,
            std::vector<std::string>{"made-up-train-00000-of-00002.tfrecord"});
  expect_error(ErrorKind::config,
               "1 shards are missing, the first is 'made-up-train-00000-of-00002.tfrecord'",
               [&] { open(Damage::refuse); });
  const std::filesystem::path other = folder_.path() / "made-up-train-00001-of-00002.tfrecord";
  EXPECT_TRUE(
      RecordSet::open(other, "", Damage::refuse)->info(true).whole());  // that one alone was asked for
}

TEST_F(RecordDamage, FilesWithoutARecordAreRefused) {
  for (const std::string content : {"", "no record at all, but longer than a frame"}) {
    const TestFolder folder;
    folder.write("a.tfrecord", content);
    for (const Damage damage : {Damage::skip, Damage::refuse})
      expect_error(ErrorKind::config, content.empty() ? "no records in 1 files" : "record at byte 0",
                   [&] { RecordSet::open(folder.path(), "", damage); });
  }
}

TEST_F(RecordDamage, ASetWithoutASoundRecordEndsTheReading) {
  const TestFolder folder;
  std::string content;
  for (int i = 0; i < 5; ++i) append_frame(content, "no example");
  folder.write("a.tfrecord", content);
  const auto set = RecordSet::open(folder.path(), "", Damage::refuse);
  RecordReader endless(set, {}), share(set, {.share = 1, .shares = 3});
  expect_error(ErrorKind::config, "none of 5 records can be read; ", [&] { endless.next(); });
  expect_error(ErrorKind::config, "it is no tf.train.Example", [&] { share.next(); });
  RecordReader once(set, {.epochs = 1, .damage = Damage::refuse});
  expect_error(ErrorKind::config, "record at byte", [&] { once.next(); });
}

TEST_F(RecordDamage, RandomDamageNeverGivesAWrongImage) {
  const std::string whole = content_of(file());
  std::int64_t lost = 0, skipped = 0;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    std::string content = whole;
    const Philox random(11, round);
    for (std::uint64_t i = 0; i <= round % 5; ++i) {
      const Philox::Block words = random.block(i);
      content[words[0] % content.size()] = static_cast<char>(words[1]);
    }
    if (round % 7 == 0) content.resize(random.block(99)[0] % content.size());
    overwrite(file(), content);
    const auto set = open(Damage::skip);
    set->info(false);
    RecordReader reader(set, {.epochs = 1});
    readable(reader, kRecords - set->size());
    lost += kRecords - set->size();
    skipped += reader.skipped();
  }
  EXPECT_GT(lost, 100);
  EXPECT_GT(skipped, 100);
}

}  // namespace

}  // namespace trainyard::data
