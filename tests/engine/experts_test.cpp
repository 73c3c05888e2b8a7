#include <gtest/gtest.h>

#include "data/source/language.h"
#include "data/view/batch_stream.h"
#include "engine/canonical.h"
#include "plan/compile.h"
#include "plan/passes.h"
#include "train/session/evaluate.h"
#include "train/session/session.h"

// A transformer whose feed-forward parts are experts, in whole training steps.
namespace trainyard {
namespace {

constexpr std::int64_t kLength = 32, kBatch = 16, kExperts = 4;

networks::generator::Given small(int choices, const std::string& balance) {
  return {{"layers", "2"},
          {"width", "32"},
          {"heads", "2"},
          {"length", std::to_string(kLength)},
          {"vocabulary", "40"},
          {"experts", std::to_string(kExperts)},
          {"top_k", std::to_string(choices)},
          {"balance", balance}};
}

// Batches of a made-up language.
class Batches {
 public:
  explicit Batches(const networks::ModelOptions& model)
      : info_(networks::find_network(model.network, model.parameters)),
        dataset_(data::make_language(3, train::sequences_for(info_, model.parameters))),
        stream_(dataset_, {.preprocess = train::match_input(info_, dataset_, "").preprocess,
                           .batch = model.batch,
                           .depth = 0}) {}

  void feed(engine::Executor& executor) {
    const data::Batch& batch = stream_.next();
    executor.write("tokens", batch.images);
    executor.write("lengths", batch.labels);
  }

 private:
  const networks::NetworkInfo info_;
  const data::Dataset dataset_;
  data::BatchStream stream_;
};

struct Trained {
  float first = 0, last = 0;                   // losses
  std::vector<std::vector<double>> of_layers;  // the share of the choices of each expert
};

// Returns the shares on a further batch.
std::vector<std::vector<double>> shares_of(const train::Session& session, Batches& batches, int choices) {
  networks::ModelOptions options = session.options().model;
  options.training = false;
  networks::Model model = networks::build_model(options);
  const std::vector<std::string> offsets{"layer1/feed_forward/router/route:3",
                                         "layer2/feed_forward/router/route:3"};
  for (const std::string& name : offsets) model.graph.mark_output(model.graph.find(name));
  engine::Executor executor(plan::compile(model.graph, session.backend()));
  for (const graph::ValueId parameter : model.graph.values_with(graph::Role::parameter)) {
    const std::string& name = model.graph.value(parameter).name;
    executor.write(name, session.executor().read(name));
  }
  batches.feed(executor);
  executor.run({});
  std::vector<std::vector<double>> all;
  for (const std::string& name : offsets) {
    const auto ends = executor.host_view<std::int32_t>(name);
    EXPECT_EQ(ends.back(), kLength * kBatch * choices);
    std::vector<double>& shares = all.emplace_back();
    for (std::size_t e = 0; e < kExperts; ++e)
      shares.push_back(static_cast<double>(ends[e + 1] - ends[e]) / ends.back());
  }
  return all;
}

Trained train_for(int steps, int choices, const std::string& balance) {
  train::SessionOptions options;
  options.model = {.network = "transformer", .batch = kBatch, .parameters = small(choices, balance)};
  options.update.rule = ops::Rule::adam;
  options.update.schedule.rate = 0.004;
  options.seed = 5;
  options.threads = 1;
  train::Session session(options);
  Batches batches(options.model);
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    batches.feed(session.executor());
    session.executor().run({5, step});
    if (step == 0) trained.first = session.loss();
  }
  trained.last = session.loss();
  trained.of_layers = shares_of(session, batches, choices);
  return trained;
}

// The number of experts times the sum of squares of their shares: 1 where all are used alike.
double unevenness(const std::vector<double>& shares) {
  return kExperts * std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
}

TEST(Experts, ALanguageIsLearnedAndAllAreUsed) {
  const Trained trained = train_for(100, 2, "0.01");
  EXPECT_NEAR(trained.first, std::log(40.0) + 2 * 0.01, 0.1);  // the penalty of two layers is in it
  EXPECT_LT(trained.last, 3.1f);
  for (const std::vector<double>& shares : trained.of_layers)
    for (const double share : shares) EXPECT_TRUE(share > 0.1 && share < 0.45) << share;
}

// With one choice no gate says anything to the router: the penalty alone decides how rows are shared.
TEST(Experts, ThePenaltySpreadsThem) {
  const Trained without = train_for(100, 1, "0"), with = train_for(100, 1, "0.1");
  EXPECT_LT(with.last, with.first - 0.5f);
  for (const std::vector<double>& shares : with.of_layers) EXPECT_LT(unevenness(shares), 1.1);
  EXPECT_LT(unevenness(with.of_layers[0]), unevenness(without.of_layers[0]));
}

// Plans of GPUs: products and the rows between them are bf16, what decides is f32.
TEST(Experts, AreLoweredToBf16) {
  networks::Model model =
      networks::build_model({.network = "transformer", .batch = 2, .parameters = small(2, "0.01")});
  networks::add_training_step(model, {});
  const graph::Graph lowered = plan::lower_to_bf16(model.graph);
  graph::verify(lowered);
  const auto type = [&](const std::string& name) {
    const graph::ValueId value = lowered.find("layer1/feed_forward/" + name);
    TRAINYARD_CHECK(value != graph::kNone);
    return lowered.dtype(value);
  };
  for (const char* name : {"dispatch:0", "in:0", "unit:0", "out:0", "combine:0", "combine/d_src:0",
                           "dispatch/d_src:0", "in/d_weight:0", "out/d_src:0"})
    EXPECT_EQ(type(name), DType::bf16) << name;
  for (const char* name : {"router/route:0", "router/route/d_scores:0", "combine/d_src:1", "in/bias",
                           "in/d_weight:1", "in/weight"})
    EXPECT_EQ(type(name), DType::f32) << name;
}

}  // namespace
}  // namespace trainyard
