#include "ensemble/stream_batches.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/test_folder.h"
#include "ensemble/test_records.h"

namespace trainyard::ensemble {
namespace {

// Positions from a list, so many to a block.
class ListedStream final : public MemberStream {
 public:
  ListedStream(std::vector<std::int64_t> positions, std::int64_t block)
      : positions_(std::move(positions)), pool_({block, 64}) {}

  const SampleBlock* next() override {
    if (at_ == positions_.size()) return nullptr;
    block_.emplace(pool_.take());
    while (!(*block_)->full() && at_ < positions_.size()) {
      const std::int64_t position = positions_[at_++];
      std::uint8_t* pixels = (*block_)->add({.id = position % 50, .position = position, .label = 3});
      for (int i = 0; i < 64; ++i) pixels[i] = static_cast<std::uint8_t>(position + i % 8);
    }
    return &**block_;
  }
  void release() override { block_.reset(); }
  void leave() override {}
  QueueFill fill() const override { return {}; }

 private:
  std::vector<std::int64_t> positions_;
  std::size_t at_ = 0;
  BlockPool pool_;
  std::optional<OwnedBlock> block_;
};

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = first; i < end; ++i) list.push_back(i);
  return list;
}

StreamBatches::How plain(std::optional<std::uint64_t> mirror_seed = std::nullopt) {
  return {data::make_preprocessor({.name = "lenet", .output = {1, 8, 8}}), mirror_seed, 100};
}

// The positions of a batch, read back from its floats.
std::vector<std::int64_t> make_batch(const StreamBatches& batches, std::int64_t step) {
  std::vector<float> images(static_cast<std::size_t>(batches.input_shape().elements()));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batches.options().batch));
  auto scratch = batches.scratch();
  EXPECT_EQ(batches.make(step, reinterpret_cast<std::byte*>(images.data()), labels.data(), scratch),
            batches.options().batch);
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i], 3);
    const float left = images[i * 64], right = images[i * 64 + 7];
    EXPECT_EQ(std::abs(right - left), 7.0f / 128);
    positions.push_back(static_cast<std::int64_t>(std::min(left, right) * 128 + 128));
  }
  return positions;
}

TEST(StreamBatches, TakesSamplesInOrderWhateverTheBlocks) {
  for (const std::int64_t block : {1, 3, 4, 32}) {
    const StreamBatches batches(std::make_shared<ListedStream>(numbers(0, 24), block), plain(),
                                StreamPlace(1), {.batch = 4});
    for (std::int64_t step = 0; step < 6; ++step)
      EXPECT_EQ(make_batch(batches, step), numbers(4 * step, 4 * step + 4));
  }
}

TEST(StreamBatches, GoesOnFromAPlaceWithNothingTwiceAndNothingLeftOut) {
  // Three shares, whose samples come in any order among each other.
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < 10; ++i)
    for (const std::int64_t share : {i % 2 == 0 ? 2 : 0, 1, i % 2 == 0 ? 0 : 2})
      order.push_back(3 * i + share);
  const StreamBatches before(std::make_shared<ListedStream>(order, 4), plain(), StreamPlace(3), {.batch = 4});
  std::multiset<std::int64_t> seen;
  for (std::int64_t step = 0; step < 5; ++step)
    for (const std::int64_t position : make_batch(before, step)) {
      if (step < 3) seen.insert(position);
    }
  const std::string text = before.place_after(3).text();  // two batches were made ahead
  const StreamPlace place = StreamPlace::parse(text, 3);
  const StreamBatches after(std::make_shared<ListedStream>(numbers(0, 30), 7), plain(), place,
                            {.batch = 4, .first_step = 3});
  for (std::int64_t step = 3; step < 7; ++step)
    for (const std::int64_t position : make_batch(after, step)) seen.insert(position);
  EXPECT_EQ(seen.size(), 28u);
  for (const std::int64_t position : seen) EXPECT_EQ(seen.count(position), 1u) << position;
}

// Sees `count` positions in the order in which shares that run unlike fast bring them.
void see_some(StreamPlace& place, std::int64_t count, std::uint64_t seed, std::multiset<std::int64_t>& seen) {
  std::vector<std::int64_t> next = place.next();
  const auto shares = static_cast<std::int64_t>(next.size());
  const Philox random(seed, 0);
  for (std::uint64_t draw = 0; count > 0; ++draw) {
    std::int64_t& position = next[random.block(draw)[0] % next.size()];
    if (!place.has_seen(position)) {
      seen.insert(position);
      place.see(position);
      --count;
    }
    position += shares;
  }
}

TEST(StreamPlace, GoesOnWithAnotherNumberOfShares) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    StreamPlace place(3);
    std::multiset<std::int64_t> seen;
    for (const int shares : {3, 2, 2, 5, 1}) {
      place = StreamPlace::parse(place.text(), shares);
      ASSERT_EQ(place.next().size(), static_cast<std::size_t>(shares));
      see_some(place, 7, seed, seen);
    }
    see_some(place, 300, seed, seen);
    // One share brings them in order: all that was left out by the others is caught up with.
    EXPECT_EQ(place.text(), "335");
    for (std::int64_t position = 0; position < 335; ++position)
      EXPECT_EQ(seen.count(position), 1u) << position;
  }
}

TEST(StreamPlace, TextThatIsNoneIsRefused) {
  for (const char* text : {"", "x", "4 5 |", "| 4", "4 | | 5"})
    expect_error(ErrorKind::config, "is no place", [&] { StreamPlace::parse(text, 3); });
}

TEST(StreamBatches, MirrorsAboutHalfByTheMembersSeed) {
  std::vector<std::vector<bool>> mirrored;
  for (const std::uint64_t seed : {1, 2}) {
    const StreamBatches batches(std::make_shared<ListedStream>(numbers(0, 100), 10), plain(seed),
                                StreamPlace(1), {.batch = 100});
    std::vector<float> images(6400);
    std::vector<std::int32_t> labels(100);
    auto scratch = batches.scratch();
    batches.make(0, reinterpret_cast<std::byte*>(images.data()), labels.data(), scratch);
    std::vector<bool>& flips = mirrored.emplace_back();
    for (std::size_t i = 0; i < 100; ++i) flips.push_back(images[i * 64] > images[i * 64 + 7]);
    const auto count = std::count(flips.begin(), flips.end(), true);
    EXPECT_GT(count, 25);
    EXPECT_LT(count, 75);
  }
  EXPECT_NE(mirrored[0], mirrored[1]);
}

TEST(StreamBatches, AnEndBeforeTheLastStepIsAnError) {
  const StreamBatches batches(std::make_shared<ListedStream>(numbers(0, 6), 3), plain(), StreamPlace(1),
                              {.batch = 4});
  make_batch(batches, 0);
  expect_error(ErrorKind::peer, "ended before step 1", [&] { make_batch(batches, 1); });
}

}  // namespace
}  // namespace trainyard::ensemble
