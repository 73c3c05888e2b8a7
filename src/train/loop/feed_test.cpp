#include "train/loop/feed.h"

#include <gtest/gtest.h>

#include "data/source/synthetic.h"
#include "data/view/batch_maker.h"
#include "data/view/batch_stream.h"
#include "train/loop/timed_steps.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {

namespace {

class HostBatchesTest : public testing::Test {
 protected:
  static SessionOptions options() {
    SessionOptions options;
    options.model = {.network = "lenet", .batch = 4, .classes = 4, .input = {1, 12, 12}};
    options.backend = "reference";
    options.threads = 1;
    return options;
  }

  std::shared_ptr<const data::BatchMaker> images(std::int64_t depth) const {
    const data::Preprocess unit{.name = "unit", .output = {1, 12, 12}};
    return std::make_shared<data::ImageBatches>(
        dataset_, data::BatchStreamOptions{.preprocess = unit, .batch = 4, .depth = depth});
  }

  // depth 0: no thread makes batches ahead, so every step waits for its own.
  TimedSteps timed(std::int64_t depth) {
    Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
    HostBatches batches(replicas, [&](int) { return images(depth); });
    return time_steps(replicas, {.warmup_steps = 2, .steps = 6, .batches = &batches});
  }

  const data::Dataset dataset_ = small_dataset();
};

TEST_F(HostBatchesTest, WhatStepsWaitedForTheirInputIsPartOfTheirTime) {
  const TimedSteps starved = timed(0), fed = timed(4);
  EXPECT_GT(starved.input_wait_seconds, 0);
  EXPECT_GT(fed.input_wait_seconds, 0);  // a batch that was ready is still handed over and copied
  for (const TimedSteps* steps : {&starved, &fed}) {
    EXPECT_EQ(steps->seconds.size(), 6u);
    EXPECT_EQ(steps->images_consumed, 6 * 4);
    EXPECT_DOUBLE_EQ(steps->wall_seconds, std::accumulate(steps->seconds.begin(), steps->seconds.end(), 0.0));
    EXPECT_LE(steps->input_wait_seconds, steps->wall_seconds);
  }
}

TEST_F(HostBatchesTest, EveryStepHasABatchOfItsOwn) {
  Replicas replicas(options(), {Strategy::single, 1, Scaling::weak});
  HostBatches batches(replicas, [&](int) { return images(4); });
  const auto filled = [&] {
    const auto view = replicas.session(0).executor().host_view<float>(Session::kImages);
    return std::vector<float>(view.begin(), view.end());
  };
  EXPECT_EQ(batches.fill(0), 4);
  const std::vector<float> first = filled();
  EXPECT_EQ(batches.fill(0), 4);
  EXPECT_NE(filled(), first);
}

TEST(HostBatches, SequencesHaveTokensAndLengths) {
  SessionOptions options;
  options.model = {.network = "rnn",
                   .batch = 3,
                   .parameters = {{"layers", "1"}, {"hidden", "8"}, {"length", "5"}, {"vocabulary", "16"}}};
  Replicas replicas(options, {Strategy::single, 1, Scaling::weak});
  const data::Dataset dataset = data::make_synthetic_sequences({5, 16}, 7);
  HostBatches batches(replicas, [&](int) {
    return std::make_shared<data::TokenBatches>(dataset, data::BatchStreamOptions{.batch = 3, .seed = 7});
  });
  const TimedSteps steps = time_steps(replicas, {.warmup_steps = 1, .steps = 3, .batches = &batches});
  EXPECT_EQ(steps.images_consumed, 9);
  EXPECT_EQ(batches.fill(0), 3);
  const data::TokenBatches maker(dataset, {.batch = 3, .seed = 7});
  std::vector<std::int32_t> tokens(6 * 3), lengths(3);
  data::BatchMaker::Scratch scratch;
  maker.make(4, reinterpret_cast<std::byte*>(tokens.data()), lengths.data(), scratch);
  const engine::Executor& executor = replicas.session(0).executor();
  const auto read = [&](const char* name) {
    const HostTensor tensor = executor.read(name);
    return std::vector<std::int32_t>(tensor.as<std::int32_t>().begin(), tensor.as<std::int32_t>().end());
  };
  EXPECT_EQ(read("tokens"), tokens);
  EXPECT_EQ(read("lengths"), lengths);
}

}  // namespace

// Every step finds its batch, in whatever order a device works off its two queues.

namespace {

// A QueueDevice is a device in the host's memory whose copies and steps wait in queues until something needs
// them done; or, where it is eager to copy, until nothing stands in the way of a copy.
class QueueDevice final : public backend::Device {
 public:
  explicit QueueDevice(bool eager) : eager_(eager) {}

  std::string name() const override { return "queues:0"; }
  std::byte* allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  void release(std::byte* memory, std::size_t bytes) noexcept override { host_->release(memory, bytes); }
  void write(std::byte* to, const void* from, std::size_t bytes) override { host_->write(to, from, bytes); }
  void read(const std::byte* from, void* to, std::size_t bytes) override {
    wait();
    host_->read(from, to, bytes);
  }
  void wait() override { run_steps(steps_.size()); }
  void fill_random(std::byte*, std::size_t, DType) override {}
  double time(const std::function<void()>& enqueue) override { return host_->time(enqueue); }
  std::unique_ptr<backend::CopyQueue> make_copy_queue(int places, std::size_t host_bytes) override;

  void start(std::function<void()> step) { steps_.push_back({std::move(step), taken_}); }
  std::size_t started() const { return steps_.size(); }
  std::size_t done() const { return steps_done_; }

 private:
  friend class Queue;
  struct Work {
    std::function<void()> run;
    std::size_t behind;  // so many of the other queue
  };

  void run_steps(std::size_t until) {
    for (; steps_done_ < until; ++steps_done_) {
      run_copies(steps_[steps_done_].behind);
      steps_[steps_done_].run();
    }
  }
  void run_copies(std::size_t until) {
    for (; copies_done_ < until; ++copies_done_) {
      run_steps(copies_[copies_done_].behind);
      copies_[copies_done_].run();
    }
  }
  void copy_if_eager() {
    if (!eager_) return;
    for (; copies_done_ < copies_.size() && copies_[copies_done_].behind <= steps_done_; ++copies_done_)
      copies_[copies_done_].run();
  }

  const bool eager_;
  std::shared_ptr<backend::Device> host_ = backend::host_device();
  std::vector<Work> steps_, copies_;
  std::size_t steps_done_ = 0, copies_done_ = 0, taken_ = 0;
};

class Queue final : public backend::CopyQueue {
 public:
  Queue(QueueDevice& device, int places, std::size_t bytes)
      : device_(device),
        host_(bytes),
        sent_(static_cast<std::size_t>(places)),
        free_(static_cast<std::size_t>(places)) {}

  std::byte* host() const override { return host_.data(); }
  void send(int place, std::byte* to, const std::byte* from, std::size_t bytes) override {
    device_.copies_.push_back(
        {[=] { std::memcpy(to, from, bytes); }, free_[static_cast<std::size_t>(place)]});
    sent_[static_cast<std::size_t>(place)] = device_.copies_.size();
    device_.copy_if_eager();
  }
  void take(int place) override {
    device_.taken_ = std::max(device_.taken_, sent_[static_cast<std::size_t>(place)]);
  }
  void give_back(int place) override { free_[static_cast<std::size_t>(place)] = device_.steps_.size(); }
  void settle(int place) override {
    device_.run_copies(sent_[static_cast<std::size_t>(place)]);
    device_.copy_if_eager();
  }
  bool is_used(int place) override { return device_.steps_done_ >= free_[static_cast<std::size_t>(place)]; }
  void await_use(int place) override { device_.run_steps(free_[static_cast<std::size_t>(place)]); }

 private:
  QueueDevice& device_;
  AlignedBuffer host_;
  std::vector<std::size_t> sent_, free_;  // copies and steps in the queues at that moment
};

std::unique_ptr<backend::CopyQueue> QueueDevice::make_copy_queue(int places, std::size_t host_bytes) {
  return std::make_unique<Queue>(*this, places, host_bytes);
}

class HostFeedTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::int64_t kBatch = 5, kFirst = 7, kSteps = 60, kImageFloats = 64;

  const data::Dataset dataset_ = data::make_synthetic(
      {.image_shape = {1, 8, 8}, .classes = 10, .train_images = 33, .test_images = 1, .seed = 3});
  const data::BatchStreamOptions options_{
      .preprocess = {"unit", {}}, .batch = kBatch, .seed = 9, .first_step = kFirst, .depth = 3, .threads = 2};
  const backend::InputRing ring_{.places = 3,
                                 .image_bytes = kBatch * kImageFloats * sizeof(float),
                                 .label_bytes = kBatch * sizeof(std::int32_t),
                                 .begins = 16};
  const std::shared_ptr<QueueDevice> device_ = std::make_shared<QueueDevice>(GetParam());
};

TEST_P(HostFeedTest, EveryStepFindsItsBatch) {
  std::vector<std::byte> ring(ring_.bytes());
  std::vector<std::vector<std::byte>> found;
  {
    HostFeed feed(device_, ring_, {ring.data(), nullptr},
                  std::make_shared<data::ImageBatches>(dataset_, options_));
    for (std::int64_t step = kFirst; step < kFirst + kSteps; ++step) {
      feed.before(step);
      device_->start([&, step] {
        const std::byte* place =
            ring.data() + static_cast<std::size_t>(ring_.place_of(step)) * ring_.place_bytes();
        found.emplace_back(place, place + ring_.place_bytes());
      });
      feed.after(step);
      // The host is ahead of the device by no more than what lies in both halves of the ring.
      EXPECT_LE(device_->started() - device_->done(), 2u * static_cast<std::size_t>(ring_.places));
    }
    device_->wait();
  }
  data::BatchStream stream(dataset_, options_);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(kSteps));
  for (const std::vector<std::byte>& place : found) {
    const data::Batch& batch = stream.next();
    ASSERT_EQ(std::memcmp(place.data(), batch.images.data(), batch.images.bytes()), 0) << batch.step;
    ASSERT_EQ(std::memcmp(place.data() + ring_.labels_at(), batch.labels.data(), batch.labels.bytes()), 0);
  }
}

// Batches of numbers that are lent until a device has used them.
class LentBatches final : public data::BatchMaker {
 public:
  LentBatches(const data::BatchStreamOptions& options, const QueueDevice& device)
      : BatchMaker(options), device_(device) {}

  Shape input_shape() const override { return {options().batch, 64}; }
  DType input_type() const override { return DType::f32; }
  std::int64_t steps() const override { return 1000; }
  bool lends() const override { return true; }
  void used(std::int64_t step) const override {
    EXPECT_EQ(step, next_used_++);
    EXPECT_GT(device_.done(), static_cast<std::size_t>(step - options().first_step));
  }
  std::int64_t next_used() const { return next_used_; }

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t*, Scratch&) const override {
    std::fill_n(reinterpret_cast<float*>(inputs), input_shape().elements(), static_cast<float>(step));
    return options().batch;
  }

  const QueueDevice& device_;
  mutable std::int64_t next_used_ = options().first_step;
};

TEST_P(HostFeedTest, WhatIsLentIsGivenBackInOrderOnceUsed) {
  std::vector<std::byte> ring(ring_.bytes());
  const auto maker = std::make_shared<LentBatches>(options_, *device_);
  HostFeed feed(device_, ring_, {ring.data(), nullptr}, maker);
  for (std::int64_t step = kFirst; step < kFirst + kSteps; ++step) {
    feed.before(step);
    device_->start([&, step] {
      const std::byte* place =
          ring.data() + static_cast<std::size_t>(ring_.place_of(step)) * ring_.place_bytes();
      EXPECT_EQ(*reinterpret_cast<const float*>(place), static_cast<float>(step));
    });
    feed.after(step);
    // None is kept longer than its place in the ring.
    EXPECT_GT(maker->next_used(), step - ring_.places);
  }
  device_->wait();
}

TEST_P(HostFeedTest, TellsWhenTheLastStepsBegan) {
  std::vector<std::byte> ring(ring_.bytes());
  std::vector<std::int64_t> begins(static_cast<std::size_t>(ring_.begins));
  const HostFeed feed(device_, ring_, {ring.data(), reinterpret_cast<const std::byte*>(begins.data())},
                      std::make_shared<data::ImageBatches>(dataset_, options_));
  for (std::int64_t step = 30; step < 40; ++step)
    begins[static_cast<std::size_t>(step % ring_.begins)] = step;
  EXPECT_EQ(feed.begins(31, 3), (std::vector<std::int64_t>{31, 32, 33}));
}

INSTANTIATE_TEST_SUITE_P(Devices, HostFeedTest, testing::Values(false, true),
                         [](const auto& row) { return row.param ? "EagerToCopy" : "LateInAll"; });

TEST(Feed, IsFoundByItsName) {
  EXPECT_EQ(feed_names(), (std::vector<std::string>{"auto", "device", "host"}));
  for (const std::string& each : feed_names()) EXPECT_EQ(name(*find_feed(each)), each);
  EXPECT_EQ(find_feed("hots"), std::nullopt);
}

}  // namespace

}  // namespace trainyard::train
