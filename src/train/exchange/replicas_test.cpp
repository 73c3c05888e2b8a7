#include "train/exchange/replicas.h"

#include <gtest/gtest.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "engine/canonical.h"
#include "train/loop/training.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {
namespace {

using plan::Region;

constexpr int kSteps = 6;

SessionOptions session_of(const std::string& network, std::int64_t batch) {
  SessionOptions options;
  options.model = {
      .network = network, .batch = batch, .classes = 4, .input = {1, 12, 12}, .weight_decay = 1e-3};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  options.seed = 3;
  return options;
}

TrainOptions loop_of(std::int64_t steps) {
  return {.steps = steps, .preprocess = {"lenet", {1, 12, 12}}, .checkpoint_every = 2};
}

std::vector<float> state(Replicas& replicas, int device, Region region = Region::parameters) {
  const auto values = replicas.session(device).executor().floats(region);
  return {values.begin(), values.end()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// In plain order, which does not depend on the batch.
std::vector<HostTensor> parameters(Session& session) {
  std::vector<HostTensor> tensors;
  for (const plan::Buffer& buffer : session.executor().plan().buffers)
    if (buffer.region == Region::parameters) tensors.push_back(session.executor().read(buffer.name));
  return tensors;
}

class TwoDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  }
};

class Synchronous : public TwoDevices, public testing::WithParamInterface<Strategy> {
 protected:
  Deployment two() const { return {GetParam(), 2, Scaling::strong}; }
};

INSTANTIATE_TEST_SUITE_P(Strategies, Synchronous,
                         testing::Values(Strategy::towers_device, Strategy::towers_host, Strategy::allreduce),
                         [](const auto& parameter) {
                           std::string text = name(parameter.param);
                           std::erase(text, '-');
                           return text;
                         });

// Both went through the same images.
void expect_same_training(Replicas& split, const TrainResult& result, Replicas& big,
                          const TrainResult& expected) {
  EXPECT_EQ(result.images_consumed, expected.images_consumed);
  EXPECT_NEAR(result.first_loss, expected.first_loss, 1e-5);
  EXPECT_NEAR(result.final_loss, expected.final_loss, 1e-5);
  const std::vector<HostTensor> found = parameters(split.keeper()), wanted = parameters(big.keeper());
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t t = 0; t < found.size(); ++t) {
    const auto a = found[t].as<float>(), b = wanted[t].as<float>();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << "tensor " << t;
  }
}

TEST_P(Synchronous, EqualsOneBigBatch) {
  for (const char* network : {"lenet", "cifarnet"}) {
    SCOPED_TRACE(network);
    const data::Dataset dataset = small_dataset();
    Replicas big(session_of(network, 8), {});
    const TrainResult expected = run_training(big, dataset, loop_of(kSteps), nullptr);
    EXPECT_EQ(expected.images_consumed, 8 * kSteps);
    Replicas split(session_of(network, 4), two());
    const TrainResult result = run_training(split, dataset, loop_of(kSteps), nullptr);
    expect_same_training(split, result, big, expected);
  }
}

// An update has so many micro-batches of each device.
Deployment accumulating(int micro_batches, Strategy strategy = Strategy::single, int devices = 1) {
  return {strategy, devices, Scaling::weak, "", micro_batches};
}

// Below what the plan of one device takes, so that it has to compute values again. Towers on the host keep
// the optimizer's state once, beside the devices.
std::size_t tight_limit(const SessionOptions& options, int micro_batches, Strategy strategy) {
  SessionOptions whole = options;
  whole.keep_gradients = true;
  whole.optimizer_state = strategy != Strategy::towers_host;
  whole.micro_batches = micro_batches;
  const Session session(whole);
  const plan::StepPlan& plan = session.executor().plan();
  return session.plan_bytes() - plan.bytes(Region::slab) / 6;
}

TEST_P(Synchronous, ALimitOfThePlanChangesNoBit) {
  for (const int micro_batches : {1, 2}) {
    SCOPED_TRACE(micro_batches);
    const data::Dataset dataset = small_dataset();
    const Deployment deployment{GetParam(), 2, Scaling::weak, "", micro_batches};
    SessionOptions options = session_of("resnet20", 8);
    options.threads = 2;
    options.update.clip_norm = 0.5;
    Replicas free(options, deployment);
    const TrainResult expected = run_training(free, dataset, loop_of(kSteps), nullptr);
    SessionOptions one = options;
    one.threads = 1;
    options.limit_bytes = tight_limit(one, micro_batches, GetParam());
    Replicas limited(options, deployment);
    const TrainResult result = run_training(limited, dataset, loop_of(kSteps), nullptr);
    EXPECT_EQ(result.first_loss, expected.first_loss);
    EXPECT_EQ(result.final_loss, expected.final_loss);
    for (int device = 0; device < 2; ++device)
      EXPECT_TRUE(same_bits(state(limited, device), state(free, device))) << device;
    const RunFacts facts = limited.facts(), free_facts = free.facts();
    EXPECT_EQ(facts.flops_per_step, free_facts.flops_per_step);
    EXPECT_LE(facts.plan_bytes, facts.plan_limit_bytes);
    EXPECT_GT(facts.recomputed_bytes_per_step, 0);
    EXPECT_EQ(free_facts.recomputed_bytes_per_step, 0);
  }
}

SessionOptions clipped(SessionOptions options) {
  options.update.clip_norm = 0.5;
  return options;
}

TEST(Accumulated, EqualsOneBigBatch) {
  for (const bool clips : {false, true}) {
    SCOPED_TRACE(clips ? "clipped" : "not clipped");
    const data::Dataset dataset = small_dataset();
    const auto options = [&](std::int64_t batch) {
      const SessionOptions plain = session_of("lenet", batch);
      return clips ? clipped(plain) : plain;
    };
    Replicas big(options(32), {});
    const TrainResult expected = run_training(big, dataset, loop_of(kSteps), nullptr);
    EXPECT_EQ(expected.images_consumed, 32 * kSteps);
    Replicas parts(options(8), accumulating(4));
    const TrainResult result = run_training(parts, dataset, loop_of(kSteps), nullptr);
    expect_same_training(parts, result, big, expected);
    EXPECT_EQ(result.step_seconds.size(), static_cast<std::size_t>(kSteps));
  }
}

// The schedule and the corrections of adam count updates, not batches.
TEST(Accumulated, StepsAreUpdates) {
  const data::Dataset dataset = small_dataset();
  const auto options = [](std::int64_t batch) {
    SessionOptions with_adam = session_of("lenet", batch);
    with_adam.update.rule = ops::Rule::adam;
    with_adam.update.epsilon = 1e-3;
    with_adam.update.schedule = {
        .kind = ops::Schedule::Kind::cosine, .rate = 1e-3, .decay_steps = kSteps, .warmup_steps = 2};
    return with_adam;
  };
  Replicas big(options(8), {}), parts(options(4), accumulating(2));
  const TrainResult expected = run_training(big, dataset, loop_of(kSteps), nullptr);
  expect_same_training(parts, run_training(parts, dataset, loop_of(kSteps), nullptr), big, expected);
}

TEST(Accumulated, ResumedRunEndsBitIdentical) {
  const TestFolder folder;
  const data::Dataset dataset = small_dataset();
  const auto run = [&](const char* name, std::int64_t steps, Existing existing, int micro_batches = 3) {
    Replicas replicas(session_of("lenet", 4), accumulating(micro_batches));
    const RunFolder out(folder.path() / name, existing);
    TrainOptions loop = loop_of(steps);
    loop.resume = existing == Existing::resume;
    return run_training(replicas, dataset, loop, &out);
  };
  const TrainResult whole = run("whole", 5, Existing::refuse);
  run("cut", 3, Existing::refuse);
  const TrainResult rest = run("cut", 5, Existing::resume);
  EXPECT_EQ(rest.first_step, 3);
  EXPECT_EQ(read_file(*rest.checkpoint / "tensors.bin"), read_file(*whole.checkpoint / "tensors.bin"));
  expect_error(ErrorKind::config, "batch 4, 3 for an update there, 4 asked",
               [&] { run("cut", 7, Existing::resume, 1); });
}

TEST(Accumulated, WorkIsThatOfAllBatches) {
  const Replicas one(session_of("lenet", 4), {}), three(session_of("lenet", 4), accumulating(3));
  EXPECT_EQ(three.facts().flops_per_step, 3 * one.facts().flops_per_step);
}

TEST_P(Synchronous, AccumulatedEqualsOneBigBatch) {
  const data::Dataset dataset = small_dataset();
  Replicas big(clipped(session_of("lenet", 12)), {});
  const TrainResult expected = run_training(big, dataset, loop_of(kSteps), nullptr);
  Replicas parts(clipped(session_of("lenet", 2)), accumulating(3, GetParam(), 2));
  const TrainResult result = run_training(parts, dataset, loop_of(kSteps), nullptr);
  expect_same_training(parts, result, big, expected);
}

// The norm is that of the mean gradient, not of one device's.
TEST_P(Synchronous, ClippedEqualsOneClippedBigBatch) {
  const data::Dataset dataset = small_dataset();
  Replicas big(clipped(session_of("lenet", 8)), {}), free(session_of("lenet", 8), {});
  const TrainResult expected = run_training(big, dataset, loop_of(kSteps), nullptr);
  run_training(free, dataset, loop_of(kSteps), nullptr);
  EXPECT_FALSE(same_bits(state(big, 0), state(free, 0))) << "0.5 clips nothing here";
  Replicas split(clipped(session_of("lenet", 4)), two());
  const TrainResult result = run_training(split, dataset, loop_of(kSteps), nullptr);
  expect_same_training(split, result, big, expected);
}

TEST_P(Synchronous, RunsAgainWithTheSameResult) {
  const data::Dataset dataset = small_dataset();
  std::vector<std::vector<float>> ends;
  for (int repeat = 0; repeat < 2; ++repeat) {
    Replicas replicas(session_of("deepmnist", 4), two());
    run_training(replicas, dataset, loop_of(3), nullptr);
    const auto kept = replicas.keeper().executor().floats(Region::parameters);
    ends.emplace_back(kept.begin(), kept.end());
  }
  EXPECT_TRUE(same_bits(ends[0], ends[1]));
}

TEST_P(Synchronous, ResumedRunEndsBitIdentical) {
  const TestFolder folder;
  const data::Dataset dataset = small_dataset();
  const auto run = [&](const char* name, std::int64_t steps, Existing existing) {
    Replicas replicas(session_of("resnet20", 4), two());
    const RunFolder out(folder.path() / name, existing);
    TrainOptions loop = loop_of(steps);
    loop.resume = existing == Existing::resume;
    return run_training(replicas, dataset, loop, &out);
  };
  const TrainResult whole = run("whole", 5, Existing::refuse);
  run("cut", 3, Existing::refuse);
  const TrainResult rest = run("cut", 5, Existing::resume);
  EXPECT_EQ(rest.first_step, 3);
  EXPECT_EQ(read_file(*rest.checkpoint / "tensors.bin"), read_file(*whole.checkpoint / "tensors.bin"));
  EXPECT_EQ(rest.test_accuracy, whole.test_accuracy);
  Replicas alone(session_of("resnet20", 8), {});
  const RunFolder out(folder.path() / "cut", Existing::resume);
  TrainOptions loop = loop_of(5);
  loop.resume = true;
  expect_error(ErrorKind::config, "batch 2 x 4 there, 8 asked",
               [&] { run_training(alone, dataset, loop, &out); });
}

TEST_P(Synchronous, LossThatIsNoNumberNamesItsDevice) {
  Replicas replicas(session_of("lenet", 4), two());
  for (int device = 0; device < 2; ++device)
    engine::initialise_inputs(replicas.session(device).executor(), 1);
  const auto mislabelled = [&](int device, std::int64_t) -> std::int64_t {
    // A label that names no class makes the loss NaN on every backend.
    if (device == 1) replicas.session(1).executor().host_view<std::int32_t>(Session::kLabels)[0] = -1;
    return 4;
  };
  replicas.step(0, mislabelled);
  EXPECT_EQ(replicas.diverged_device(), 1);
}

TEST_P(Synchronous, AFailingDeviceEndsTheStepForAll) {
  Replicas replicas(session_of("lenet", 4), two());
  const auto no_data = [](int device, std::int64_t) -> std::int64_t {
    if (device == 1) fail(ErrorKind::io, "no more data");
    return 4;
  };
  expect_error(ErrorKind::io, "device 1: no more data", [&] { replicas.step(0, no_data); });
}

TEST_F(TwoDevices, ARunEndsWithTheNameOfTheDeviceThatDiverged) {
  Replicas replicas(session_of("lenet", 4), {Strategy::allreduce, 2, Scaling::weak});
  for (float& value : replicas.session(1).executor().floats(Region::parameters))
    value = std::numeric_limits<float>::quiet_NaN();
  const data::Dataset dataset = small_dataset();
  expect_error(ErrorKind::device, "loss of device 1 became nan at step 0",
               [&] { run_training(replicas, dataset, loop_of(3), nullptr); });
}

TEST_F(TwoDevices, StrategiesThatExchangeAgreeBitForBit) {
  const data::Dataset dataset = small_dataset();
  std::vector<std::vector<float>> ends;
  for (const Strategy strategy : {Strategy::towers_device, Strategy::towers_host, Strategy::allreduce}) {
    Replicas replicas(session_of("resnet20", 4), {strategy, 2, Scaling::weak});
    run_training(replicas, dataset, loop_of(3), nullptr);
    const auto kept = replicas.keeper().executor().floats(Region::parameters);
    ends.emplace_back(kept.begin(), kept.end());
  }
  EXPECT_TRUE(same_bits(ends[0], ends[1]));
  EXPECT_TRUE(same_bits(ends[0], ends[2]));
}

TEST_F(TwoDevices, AllreduceKeepsReplicasIdentical) {
  Replicas replicas(session_of("deepmnist", 4), {Strategy::allreduce, 2, Scaling::weak});
  const std::vector<float> before = state(replicas, 0);
  const data::Dataset dataset = small_dataset();
  run_training(replicas, dataset, loop_of(4), nullptr);
  EXPECT_FALSE(same_bits(state(replicas, 0), before));
  for (const Region region : {Region::parameters, Region::gradients, Region::optimizer_state})
    EXPECT_TRUE(same_bits(state(replicas, 0, region), state(replicas, 1, region))) << plan::name(region);
}

TEST_F(TwoDevices, DropoutDiffersBetweenReplicas) {
  Replicas replicas(session_of("deepmnist", 4), {Strategy::allreduce, 2, Scaling::weak});
  for (int device = 0; device < 2; ++device)
    engine::initialise_inputs(replicas.session(device).executor(), 1);  // the same images
  EXPECT_EQ(replicas.step(0, [](int, std::int64_t) { return 4; }), 8);
  EXPECT_NE(replicas.session(0).loss(), replicas.session(1).loss());
}

TEST_F(TwoDevices, IndependentReplicasHaveResultsOfTheirOwn) {
  const data::Dataset dataset = small_dataset();
  const Deployment deployment{Strategy::independent, 2, Scaling::weak};
  const std::vector<TrainResult> results =
      run_independent(session_of("lenet", 4), deployment, dataset, loop_of(kSteps), {});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_NE(results[0].first_loss, results[1].first_loss);
  EXPECT_NE(results[0].final_loss, results[1].final_loss);
  Replicas alone(session_of("lenet", 4), {});
  const TrainResult same = run_training(alone, dataset, loop_of(kSteps), nullptr);
  EXPECT_NEAR(same.final_loss, results[0].final_loss, 1e-5) << "device 0 is what one device alone is";
  const TrainResult whole = combine(results);
  EXPECT_EQ(whole.images_consumed, 2 * 4 * kSteps);
  EXPECT_EQ(whole.step_seconds.size(), static_cast<std::size_t>(kSteps));
  EXPECT_DOUBLE_EQ(2 / whole.step_seconds[1],
                   1 / results[0].step_seconds[1] + 1 / results[1].step_seconds[1]);
}

TEST_F(TwoDevices, AnIndependentReplicaThatFailsEndsTheOthers) {
  const data::Dataset dataset = small_dataset();
  const TestFolder folder;
  std::vector<std::unique_ptr<RunFolder>> folders;
  for (const char* name : {"a", "b"})
    folders.push_back(std::make_unique<RunFolder>(folder.path() / name, Existing::refuse));
  std::filesystem::remove_all(folder.path() / "b");  // where device 1 would write
  TrainOptions endless = loop_of(1 << 30);
  expect_error(ErrorKind::io, "device 1: ", [&] {
    run_independent(session_of("lenet", 4), {Strategy::independent, 2, Scaling::weak}, dataset, endless,
                    folders);
  });
}

}  // namespace
}  // namespace trainyard::train
