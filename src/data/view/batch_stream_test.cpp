#include "data/view/batch_stream.h"

#include <atomic>
#include <deque>
#include <stdexcept>

#include "base/test_folder.h"

namespace trainyard::data {

namespace {

const Dataset& small_set() {
  static const Dataset kSet = make_synthetic({{3, 32, 32}, 4, 50, 21, 7});
  return kSet;
}

BatchStreamOptions options_with(std::int64_t first_step, std::int64_t depth, int threads) {
  BatchStreamOptions options;
  options.preprocess.name = "cifarnet";
  options.batch = 8;
  options.first_step = first_step;
  options.depth = depth;
  options.threads = threads;
  return options;
}

void expect_same(const Batch& a, const Batch& b) {
  ASSERT_EQ(a.step, b.step);
  ASSERT_EQ(a.valid, b.valid);
  ASSERT_EQ(0, std::memcmp(a.images.data(), b.images.data(), a.images.bytes()));
  ASSERT_EQ(0, std::memcmp(a.labels.data(), b.labels.data(), a.labels.bytes()));
}

TEST(BatchStream, GivesTheSameForAnyDepthAndThreads) {
  BatchStream plain(small_set(), options_with(0, 0, 1));
  BatchStream one(small_set(), options_with(0, 3, 1)), two(small_set(), options_with(0, 4, 2));
  BatchStream tight(small_set(), options_with(0, 1, 2));
  for (std::int64_t step = 0; step < 60; ++step) {
    const Batch& batch = plain.next();
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(batch.images.shape(), (Shape{8, 3, 24, 24}));
    EXPECT_EQ(batch.valid, 8);
    expect_same(batch, one.next());
    expect_same(batch, two.next());
    expect_same(batch, tight.next());
  }
}

TEST(BatchStream, ResumesWhereItWas) {
  BatchStream whole(small_set(), options_with(0, 2, 1)), resumed(small_set(), options_with(17, 2, 2));
  for (int step = 0; step < 17; ++step) whole.next();
  EXPECT_EQ(whole.next_step(), 17);
  for (int step = 17; step < 30; ++step) expect_same(whole.next(), resumed.next());
}

TEST(BatchStream, OtherSeedsGiveOtherBatches) {
  BatchStreamOptions options = options_with(0, 0, 1);
  BatchStream a(small_set(), options);
  options.seed = 2;
  BatchStream b(small_set(), options);
  const Batch &x = a.next(), &y = b.next();
  EXPECT_NE(0, std::memcmp(x.images.data(), y.images.data(), x.images.bytes()));
}

TEST(BatchStream, WorkersShareOneOrder) {
  BatchStreamOptions options = options_with(0, 0, 1);
  BatchStream alone(small_set(), options);
  options.workers = 2;
  BatchStream left(small_set(), options);
  options.worker = 1;
  BatchStream right(small_set(), options);
  for (int step = 0; step < 5; ++step)
    for (BatchStream* worker : {&left, &right}) {
      const Batch &a = alone.next(), &b = worker->next();
      EXPECT_EQ(0, std::memcmp(a.images.data(), b.images.data(), a.images.bytes()));
    }
}

TEST(BatchStream, EvaluationWalksTheTestSplitOnce) {
  BatchStreamOptions options = options_with(0, 2, 2);
  options.pass = Pass::evaluation;
  options.split = Split::test;
  BatchStream stream(small_set(), options);
  ASSERT_EQ(stream.steps(), 3);
  const auto labels = small_set().test.labels.as<std::int32_t>();
  std::size_t position = 0;
  for (std::int64_t step = 0; step < 3; ++step) {
    const Batch& batch = stream.next();
    EXPECT_EQ(batch.valid, step < 2 ? 8 : 5);
    for (std::size_t i = 0; i < 8; ++i, ++position)
      EXPECT_EQ(batch.labels.as<std::int32_t>()[i], labels[position % labels.size()]);
  }
  expect_error(ErrorKind::internal, "does not hold", [&] { stream.next(); });
}

TEST(BatchStream, ABatchMayBeLargerThanTheSet) {
  BatchStreamOptions options = options_with(0, 0, 1);
  options.batch = 64;
  EXPECT_EQ(BatchStream(small_set(), options).next().valid, 64);
  options.pass = Pass::evaluation;
  options.split = Split::test;
  EXPECT_EQ(BatchStream(small_set(), options).next().valid, 21);
}

TEST(BatchStream, AllocatesNothingAfterTheStart) {
  BatchStream stream(small_set(), options_with(0, 2, 2));
  std::set<const std::byte*> buffers;
  for (int step = 0; step < 50; ++step) buffers.insert(stream.next().images.data());
  EXPECT_LE(buffers.size(), 3u);
}

TEST(BatchStream, StopsAtAnyTime) {
  for (int taken = 0; taken < 6; ++taken) {
    BatchStream stream(small_set(), options_with(0, 3, 2));
    for (int i = 0; i < taken; ++i) stream.next();
  }
}

TEST(BatchStream, RefusesBadOptions) {
  const auto refused = [](BatchStreamOptions options, const std::string& part) {
    expect_error(ErrorKind::config, part, [&] { BatchStream(small_set(), options); });
  };
  BatchStreamOptions options = options_with(0, 1, 1);
  options.batch = 0;
  refused(options, "batch size 0");
  refused(options_with(0, -1, 1), "prefetch depth -1");
  refused(options_with(0, 1, 0), "0 threads");
  options = options_with(0, 1, 1);
  options.worker = 1;
  refused(options, "worker 1 of 1");
  options = options_with(0, 1, 1);
  options.preprocess.output = {3, 64, 64};
  refused(options, "it crops");
}

TEST(PrefetchRing, PassesExceptionsToTheConsumer) {
  for (const std::int64_t depth : {0, 1, 4}) {
    PrefetchRing ring(depth, 2, 0, 100, [](std::int64_t, std::int64_t step) {
      if (step == 5) throw std::runtime_error("step five");
    });
    for (int step = 0; step < 5; ++step) ring.take();
    EXPECT_THROW(ring.take(), std::runtime_error);
    EXPECT_THROW(ring.take(), std::runtime_error);
  }
}

TEST(PrefetchRing, NeverOverwritesTheSlotInUse) {
  constexpr std::int64_t kSteps = 2000, kDepth = 3;
  std::vector<std::int64_t> slots(kDepth + 1, -1);
  PrefetchRing ring(kDepth, 3, 0, kSteps, [&](std::int64_t slot, std::int64_t step) {
    slots[static_cast<std::size_t>(slot)] = step;
  });
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::int64_t slot = ring.take();
    ASSERT_EQ(slots[static_cast<std::size_t>(slot)], step);
    if (step % 64 == 0) std::this_thread::yield();
    ASSERT_EQ(slots[static_cast<std::size_t>(slot)], step);
  }
}

TEST(PrefetchRing, LeavesTheSlotsThatAreHeld) {
  constexpr std::int64_t kSteps = 500, kDepth = 2, kHeld = 3;
  std::vector<std::atomic<std::int64_t>> slots(kDepth + kHeld);
  PrefetchRing ring(
      kDepth, 2, 0, kSteps,
      [&](std::int64_t slot, std::int64_t step) { slots[static_cast<std::size_t>(slot)] = step; }, kHeld);
  std::deque<std::int64_t> held;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    held.push_back(ring.take());
    if (held.size() > kHeld) held.pop_front();
    while (step + 1 < kSteps && !ring.ready()) std::this_thread::yield();
    for (std::size_t i = 0; i < held.size(); ++i)
      ASSERT_EQ(slots[static_cast<std::size_t>(held[i])],
                step - static_cast<std::int64_t>(held.size() - 1 - i));
  }
  EXPECT_FALSE(ring.ready());
}

}  // namespace

}  // namespace trainyard::data
