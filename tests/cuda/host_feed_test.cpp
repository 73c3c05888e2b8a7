// Batches that the host sends beside the steps: the same bits as when it hands them over one by one, and no
// time lost.
#include <algorithm>
#include <cmath>

#include "backend/device.h"
#include "base/clock.h"
#include "curve.h"
#include "data/view/batch_stream.h"
#include "engine/canonical.h"
#include "gpu.h"
#include "train/loop/step_taker.h"
#include "train/loop/training.h"

namespace trainyard {
namespace {

using train::Feed;

class GpuFedByTheHost : public GpuTest {
 protected:
  static train::SessionOptions options(const std::string& network, std::int64_t batch) {
    train::SessionOptions options;
    options.model = {.network = network, .batch = batch, .classes = 10};
    options.update.rule = ops::Rule::momentum;
    options.device = DeviceSpec::cuda();
    options.seed = 5;
    return options;
  }

  static data::BatchStreamOptions stream_of(const train::Session& session) {
    return {
        .preprocess = {"unit", {}}, .batch = session.options().model.batch, .seed = session.options().seed};
  }

  // Each batch written into the inputs, each step waited for.
  static std::vector<float> one_by_one(train::Session& session, const data::Dataset& dataset,
                                       std::int64_t steps) {
    data::BatchStream stream(dataset, stream_of(session));
    std::vector<float> losses;
    for (std::int64_t step = 0; step < steps; ++step) {
      const data::Batch& batch = stream.next();
      session.executor().write(train::Session::kImages, batch.images);
      session.executor().write(train::Session::kLabels, batch.labels);
      session.executor().run({session.options().seed, step});
      losses.push_back(session.loss());
    }
    return losses;
  }

  const data::Dataset digits_ = small_dataset({1, 28, 28});
};

// A network that is only asked has no labels; batches have them all the same, and they go nowhere.
TEST_F(GpuFedByTheHost, ANetworkWithoutALossGetsItsImages) {
  train::SessionOptions bare = options("deepmnist", 50);
  bare.model.training = bare.model.loss = false;
  train::Session plain(bare);
  data::BatchStream stream(digits_, stream_of(plain));
  plain.executor().write(train::Session::kImages, stream.next().images);
  plain.executor().run({bare.seed, 0});
  const HostTensor expected = plain.executor().read(train::Session::kLogits);
  for (const Feed how : {Feed::host, Feed::device}) {
    train::Session fed(bare);
    const auto feed = train::feed_device(fed, digits_, stream_of(fed), how);
    train::DeviceSteps(fed, bare.seed, feed.get(), nullptr).take(0, 1);
    const HostTensor logits = fed.executor().read(train::Session::kLogits);
    ASSERT_EQ(logits.elements(), expected.elements());
    for (std::size_t i = 0; i < logits.as<float>().size(); ++i)
      ASSERT_NEAR(logits.as<float>()[i], expected.as<float>()[i], 1e-3) << name(how) << " at " << i;
  }
}

TEST_F(GpuFedByTheHost, LosesNoBitOfWhatItWouldLearnOneByOne) {
  for (const std::int64_t batch : {7, 50}) {  // whole words of 16 bytes, and not
    SCOPED_TRACE(batch);
    Curve fed(options("deepmnist", batch), digits_, Feed::host);
    const std::vector<float> losses = fed.run(0, 40);
    train::Session plain(options("deepmnist", batch));
    EXPECT_EQ(losses, one_by_one(plain, digits_, 40));
  }
}

TEST_F(GpuFedByTheHost, LearnsWhatItLearnsOfDataInItsMemory) {
  // x / 255 is the same number on both; what is standardised is summed in another order.
  Curve fed(options("deepmnist", 16), digits_, Feed::host), resident(options("deepmnist", 16), digits_);
  std::vector<float> losses = fed.run(0, 17);
  const std::vector<float> rest = fed.run(17, 23);
  losses.insert(losses.end(), rest.begin(), rest.end());
  EXPECT_EQ(losses, resident.run(0, 40));
  EXPECT_EQ(fed.state(), resident.state());

  const data::Dataset pictures = small_dataset({3, 32, 32});
  Curve other(options("cifarnet", 16), pictures, Feed::host), same(options("cifarnet", 16), pictures);
  EXPECT_LT(relative_error(other.run(0, 40), same.run(0, 40)), 1e-2);
}

TEST_F(GpuFedByTheHost, TrainsAndSaysHow) {
  const auto train = [&](Feed feed) {
    train::Replicas replicas(options("deepmnist", 16), {});
    return train::run_training(
        replicas, digits_,
        {.steps = 60, .preprocess = {"unit", {}}, .feed = feed, .evaluate = true, .eval_every = 25}, nullptr);
  };
  const train::TrainResult fed = train(Feed::host), resident = train(Feed::automatic);
  EXPECT_EQ(fed.feed, Feed::host);
  EXPECT_EQ(resident.feed, Feed::device);
  EXPECT_EQ(fed.final_loss, resident.final_loss);
  EXPECT_EQ(fed.test_accuracy, resident.test_accuracy);
  EXPECT_EQ(resident.input_wait_seconds, 0);
  EXPECT_GT(fed.input_wait_seconds, 0);  // the first batch at least
  EXPECT_LT(fed.input_wait_seconds, fed.seconds);
}

// A ring that holds the next batches leaves a step that takes longer than making one nothing to wait for.
TEST_F(GpuFedByTheHost, LongStepsHardlyWait) {
  train::Session session(options("deepmnist", 1024));
  const auto feed = train::feed_device(session, digits_, stream_of(session), Feed::host);
  train::DeviceSteps loop(session, 5, feed.get());
  loop.run(0, 50);
  const train::StepsDone done = loop.run(50, 200);
  EXPECT_GE(done.wait_seconds, 0);
  EXPECT_LT(done.wait_seconds, 0.3 * done.event_seconds);
}

TEST_F(GpuFedByTheHost, CopiesRunBesideSteps) {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  train::Session session(options("deepmnist", 512));
  engine::initialise_inputs(session.executor(), 1);
  train::DeviceSteps loop(session, 1);
  loop.run(0, 32);  // both recordings are made
  const std::shared_ptr<backend::Device> device = session.backend().device();
  const backend::DeviceMemory target(device, kBytes);
  device->wait();
  const auto queue = device->make_copy_queue(1, kBytes);
  const auto copy = [&] { queue->send(0, target.data(), queue->host(), kBytes); };
  const auto seconds_of = [](const auto& work) {
    const double began = now_seconds();
    work();
    return now_seconds() - began;
  };
  copy();
  queue->settle(0);
  const double copy_seconds = seconds_of([&] {
    copy();
    queue->settle(0);
  });
  const double step_seconds = loop.run(32, 160).event_seconds / 160;
  const auto steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(2 * copy_seconds / step_seconds), 1,
                                              engine::Executor::kMarks);
  const double steps_seconds = seconds_of([&] { loop.run(192, steps); });
  const double both_seconds = seconds_of([&] {
    copy();
    loop.run(192 + steps, steps);
    queue->settle(0);
  });
  EXPECT_LT(both_seconds, steps_seconds + 0.5 * copy_seconds)
      << steps << " steps " << steps_seconds << " s, copy " << copy_seconds << " s";
}

TEST_F(GpuFedByTheHost, ARingThatDoesNotFitIsOutOfMemory) {
  const data::Dataset photos = data::make_synthetic(
      {.image_shape = {3, 227, 227}, .classes = 10, .train_images = 4, .test_images = 1, .seed = 3});
  train::Session session(options("trivial", 1024));  // of 604 MiB a batch, and hardly more
  const std::shared_ptr<backend::Device> device = session.backend().device();
  constexpr std::size_t kLeft = std::size_t{1} << 30;
  const backend::DeviceMemory held(device, device->free_bytes() - kLeft);
  try {
    train::feed_device(session, photos, stream_of(session), Feed::host);
    ADD_FAILURE() << "there was memory for it";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_EQ(std::string(error.what()).find("cuda:0: out of memory: "), 0u) << error.what();
  }
}

TEST_F(GpuFedByTheHost, MayEndBeforeItsBatchesAreUsed) {
  train::Session session(options("deepmnist", 256));
  const auto feed = train::feed_device(session, digits_, stream_of(session), Feed::host);
  feed->before(0);
}

}  // namespace
}  // namespace trainyard
