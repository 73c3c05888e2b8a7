// Trainings in which some parameters are frozen.

#include <gtest/gtest.h>

#include "base/cores.h"
#include "engine/canonical.h"
#include "train/exchange/replicas.h"
#include "train/loop/training.h"
#include "train/session/evaluate.h"
#include "train/session/test_dataset.h"

namespace trainyard::train {
namespace {

using plan::Region;

constexpr int kFrozenSteps = 8;

SessionOptions frozen(const std::string& network, const std::vector<std::string>& freeze) {
  SessionOptions options;
  options.model = {.network = network, .batch = 8, .classes = 4, .input = {1, 12, 12}, .freeze = freeze};
  if (network == "resnet20") options.model.input = {3, 12, 12};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.02;
  options.threads = 1;
  options.seed = 3;
  return options;
}

void train_frozen(Replicas& replicas) {
  run_training(replicas, small_dataset(),
               {.steps = kFrozenSteps, .preprocess = {"lenet", {1, 12, 12}}, .evaluate = false}, nullptr);
}

// In plain order, by name.
std::map<std::string, std::vector<float>> content(Session& session, Region region) {
  std::map<std::string, std::vector<float>> found;
  for (const plan::Buffer& buffer : session.executor().plan().buffers)
    if (buffer.region == region) {
      const HostTensor tensor = session.executor().read(buffer.name);
      found[buffer.name] = {tensor.as<float>().begin(), tensor.as<float>().end()};
    }
  return found;
}

void run_steps(Session& session, int steps) {
  engine::initialise_inputs(session.executor(), 3);
  for (int step = 0; step < steps; ++step) session.executor().run({3, step});
}

TEST(Frozen, ParametersKeepTheirBitsWhileOthersLearn) {
  for (const ops::Rule rule : {ops::Rule::sgd, ops::Rule::momentum, ops::Rule::adam}) {
    SessionOptions options = frozen("lenet", {"conv1", "fc1/bias", "conv2/weight"});
    options.update.rule = rule;
    options.update.schedule.rate = 0.002;
    Session session(options);
    run_steps(session, 1);
    const float first_loss = session.loss();
    const auto before = content(session, Region::parameters);
    run_steps(session, 30);
    const auto after = content(session, Region::parameters);
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, numbers] : before) {
      const bool is_frozen = name.starts_with("conv1/") || name == "conv2/weight" || name == "fc1/bias";
      EXPECT_EQ(numbers == after.at(name), is_frozen) << name;
    }
    EXPECT_LT(session.loss(), 0.9f * first_loss) << ops::name(rule);
  }
}

// A gradient does not depend on which others are computed.
TEST(Frozen, OthersAreUpdatedAsEver) {
  const auto after_one_step = [](const std::string& network, const std::vector<std::string>& freeze) {
    Session session(frozen(network, freeze));
    run_steps(session, 1);
    return content(session, Region::parameters);
  };
  for (const auto& [network, freeze] : std::vector<std::pair<std::string, std::string>>{
           {"lenet", "conv2"}, {"resnet20", "stem/weight"}, {"resnet20", "logits/weight"}}) {
    SCOPED_TRACE(network);
    const auto some = after_one_step(network, {freeze}), all = after_one_step(network, {});
    for (const auto& [name, numbers] : some) {
      if (name.starts_with(freeze)) continue;
      for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_NEAR(numbers[i], all.at(name)[i], 1e-6) << name;
    }
  }
}

TEST(Frozen, NothingIsAllocatedOrComputedForThem) {
  const Session whole(frozen("lenet", {})), head(frozen("lenet", {"all-but-head"}));
  const plan::StepPlan &of_all = whole.executor().plan(), &of_head = head.executor().plan();
  EXPECT_EQ(of_head.bytes(Region::parameters), of_all.bytes(Region::parameters));
  EXPECT_LT(of_head.bytes(Region::optimizer_state), of_all.bytes(Region::optimizer_state) / 10);
  EXPECT_LT(of_head.bytes(Region::gradients), of_all.bytes(Region::gradients) / 10);
  EXPECT_LT(of_head.steps.size(), of_all.steps.size());
  EXPECT_LT(head.work_per_step().flops, whole.work_per_step().flops / 2);
  for (const plan::Step& step : of_head.steps)
    EXPECT_FALSE(step.phase == graph::Phase::backward && step.op.starts_with("conv")) << step.name;
  EXPECT_EQ(head.frozen_parameters() + 4 * 513, head.parameters());
}

// As those of one big batch that nobody splits, or the same update from several smaller ones.
TEST(Frozen, SeveralDevicesTrainAsOne) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const auto trained = [](const Deployment& deployment, std::int64_t batch) {
    SessionOptions options = frozen("lenet", {"conv1", "fc1/weight"});
    options.model.batch = batch;
    options.threads = deployment.devices;
    Replicas replicas(options, deployment);
    train_frozen(replicas);
    return content(replicas.keeper(), Region::parameters);
  };
  const auto one = trained({}, 8);
  for (const Deployment& deployment : {Deployment{Strategy::allreduce, 2, Scaling::strong},
                                       Deployment{Strategy::towers_device, 2, Scaling::strong},
                                       Deployment{Strategy::towers_host, 2, Scaling::strong},
                                       Deployment{Strategy::single, 1, Scaling::weak, "", 2}}) {
    SCOPED_TRACE(name(deployment.strategy));
    const auto other = trained(deployment, 4);
    for (const auto& [name, numbers] : one)
      for (std::size_t i = 0; i < numbers.size(); ++i)
        ASSERT_NEAR(numbers[i], other.at(name)[i], 1e-5) << name;
  }
}

// Whatever the batch, they give what they gave before, and gradients pass them by.
TEST(Frozen, BatchNormsKeepTheirStatistics) {
  Session session(frozen("resnet20", {"*gamma", "*beta"}));
  const auto before = content(session, Region::statistics);
  ASSERT_FALSE(before.empty());
  const auto weights = content(session, Region::parameters);
  run_steps(session, 3);
  EXPECT_EQ(content(session, Region::statistics), before);
  const auto after = content(session, Region::parameters);
  EXPECT_NE(after.at("stem/weight"), weights.at("stem/weight"));
  EXPECT_EQ(after.at("stem/gamma"), weights.at("stem/gamma"));
  Session normal(frozen("resnet20", {}));
  run_steps(normal, 3);
  EXPECT_NE(content(normal, Region::statistics), before);
}

// The moving average of frozen weights is what they are.
TEST(Frozen, ShadowWeightsOfTheOthersAreEvaluated) {
  SessionOptions options = frozen("lenet", {"conv1"});
  options.update.ema_decay = 0.5;
  Session session(options);
  run_steps(session, 4);
  const auto evaluator = session.make_evaluator(8, true);
  session.renew_evaluator(*evaluator);
  const auto live = content(session, Region::parameters), shadow = content(session, Region::optimizer_state);
  std::size_t shadows = 0;
  for (const auto& [name, numbers] : live) {
    const HostTensor seen = evaluator->read(name);
    const std::vector<float> found(seen.as<float>().begin(), seen.as<float>().end());
    const auto own = shadow.find(name + ":ema");
    EXPECT_EQ(found, own == shadow.end() ? numbers : own->second) << name;
    shadows += own == shadow.end() ? 0 : 1;
  }
  EXPECT_EQ(shadows, live.size() - 2);
}

}  // namespace
}  // namespace trainyard::train
