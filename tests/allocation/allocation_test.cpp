// A step of training allocates nothing: memory is decided when the step is compiled.

#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "allocation/counted_memory.h"
#include "backend/flat_update.h"
#include "base/cores.h"
#include "base/test_folder.h"
#include "data/view/batch_stream.h"
#include "engine/canonical.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"
#include "train/exchange/replicas.h"
#include "train/loop/run_folder.h"
#include "train/session/evaluate.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

constexpr int kSteps = 10, kManySteps = 50;

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    if (!memory_is_counted()) GTEST_SKIP() << "sanitizers replace the allocation functions";
  }
};

// A test of the test: it sees what it is meant to see.
TEST_F(Allocation, CounterSeesNewAndMalloc) {
  start_attribution();
  const auto number = std::make_unique<int>(1);
  void* memory = std::malloc(100);
  *static_cast<volatile char*>(memory) = 1;
  std::vector<int> grown(1000);
  const MemoryCounts counts = stop_attribution();
  std::free(memory);
  EXPECT_EQ(counts.own, 3) << first_own_caller();
  EXPECT_EQ(counts.library, 0);
}

// Does what the training loop does in each step, over the same objects.
void expect_steady_steps(const std::string& network, const std::string& backend, int steps) {
  const networks::NetworkInfo& info = networks::find_network(network);
  data::SyntheticOptions synthetic = train::synthetic_for(info, 0, 1);
  synthetic.train_images = 40;
  const data::Dataset dataset = data::make_synthetic(synthetic);
  train::SessionOptions options;
  options.model = {.network = network, .batch = 2};
  options.update.rule = ops::Rule::adam;
  options.backend = backend;
  train::Session session(options);
  const TestFolder folder;
  train::EventFile events(folder.path(), 0);
  data::BatchStream stream(dataset,
                           {.preprocess = train::match_input(info, dataset, "").preprocess, .batch = 2});
  const auto images = session.executor().host_view<float>(train::Session::kImages);
  const auto step = [&](std::int64_t number) {
    const data::Batch& batch = stream.next();
    std::copy_n(batch.images.as<float>().data(), images.size(), images.data());
    session.executor().run({1, number});
    const train::Scalar scalars[] = {{"loss", session.loss()}, {"images_per_second", 1.0f}};
    events.add(number, scalars);
  };
  for (std::int64_t warmup = 0; warmup < 8; ++warmup) step(warmup);  // threads start, scratch is made
  start_attribution();
  const std::int64_t live_before = stop_attribution().live_bytes;
  start_attribution();
  for (std::int64_t number = 8; number < 8 + steps; ++number) step(number);
  const MemoryCounts counts = stop_attribution();
  EXPECT_EQ(counts.own, 0) << "first from " << first_own_caller();
  EXPECT_EQ(counts.live_bytes, live_before);
  if (backend == "reference") {
    EXPECT_EQ(counts.library, 0);
  }
}

TEST_F(Allocation, NoneInAStepOfTheReference) { expect_steady_steps("lenet", "reference", 5); }

TEST_F(Allocation, NoneOfOursInAStepOfOnednn) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  for (const char* network : {"lenet", "deepmnist", "cifarnet", "resnet20"}) {
    SCOPED_TRACE(network);
    expect_steady_steps(network, "onednn", std::string(network) == "lenet" ? kManySteps : kSteps);
  }
}

TEST_F(Allocation, NoneInAStepOfAGraphNetwork) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  const predict::Architecture architecture{.hidden = 16, .outputs = 2};
  predict::GraphNetwork network = predict::build_network(
      {.architecture = architecture,
       .capacity = {.graphs = 3, .nodes = 9, .edges = 4, .convolutions = 4, .readout_steps = 5},
       .training = true});
  predict::add_training_step(network, {.rule = ops::Rule::adam});
  const auto backend = backend::make_onednn_backend();
  engine::Executor executor(plan::compile(network.graph, *backend));
  engine::initialise_state(executor, 1);
  engine::initialise_optimizer(executor, 1);
  predict::GraphSample sample{
      .name = "graph", .nodes = 3, .features = std::vector<float>(9, 1), .labels = {1, 2}};
  predict::set_undirected_edges(sample, {{0, 1}});
  const predict::GnnScaling scaling = predict::no_scaling(architecture);
  const predict::GraphSample* const samples[] = {&sample, &sample};
  const auto step = [&](std::int64_t number) {
    predict::write_graphs(executor, samples, architecture, scaling);
    predict::write_labels(executor, samples, scaling);
    executor.run({1, number});
  };
  std::int64_t number = 0;
  while (number < 8) step(number++);
  start_attribution();
  while (number < 8 + kSteps) step(number++);
  const MemoryCounts counts = stop_attribution();
  EXPECT_EQ(counts.own, 0) << "first from " << first_own_caller();
}

TEST_F(Allocation, NoneInAStepOfSeveralDevices) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  train::SessionOptions options;
  options.model = {.network = "lenet", .batch = 2};
  const train::Replicas::Feed in_place = [](int, std::int64_t) { return 2; };
  for (const auto strategy :
       {train::Strategy::towers_device, train::Strategy::towers_host, train::Strategy::allreduce}) {
    SCOPED_TRACE(train::name(strategy));
    train::Replicas replicas(options, {strategy, 2, train::Scaling::weak});
    std::int64_t step = 0;
    while (step < 4) replicas.step(step++, in_place);
    start_attribution();
    while (step < 4 + kSteps) replicas.step(step++, in_place);
    const MemoryCounts counts = stop_attribution();
    EXPECT_EQ(counts.own, 0) << "first from " << first_own_caller();
  }
}

TEST_F(Allocation, NoneWhereGradientsLeaveAndParametersCome) {
  train::SessionOptions options;
  options.model = {.network = "cifarnet", .batch = 2};
  options.keep_gradients = true;
  train::Session session(options);
  engine::Executor& executor = session.executor();
  const auto gradients = engine::CanonicalArray::gradients(executor);
  auto parameters = engine::CanonicalArray::parameters(executor);
  std::vector<float> gradient(static_cast<std::size_t>(gradients.elements())), weights = gradient;
  parameters.gather(weights);
  const backend::FlatUpdate update(options.update);
  const auto arrays = backend::FlatUpdate::in_place(weights.data(), gradient.data());
  std::int64_t ready = 0, steps = 0;
  const engine::Executor::Ready count = [&](std::int64_t, std::int64_t elements) { ready += elements; };
  const auto step = [&] {
    engine::run_gradients(executor, {1, steps}, gradients, gradient, count);
    update.apply(arrays, 0, gradients.elements(), steps++);
    parameters.scatter(weights);
  };
  while (steps < 4) step();
  start_attribution();
  while (steps < 4 + kSteps) step();
  const MemoryCounts counts = stop_attribution();
  EXPECT_EQ(counts.own, 0) << "first from " << first_own_caller();
  EXPECT_EQ(ready, steps * gradients.elements());
}

}  // namespace
}  // namespace trainyard
