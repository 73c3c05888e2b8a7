#include "predict/gnn/fit.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "base/test_folder.h"
#include "predict/gnn/test_graphs.h"

namespace trainyard::predict {
namespace {

std::vector<GraphSample> eight_graphs() {
  std::vector<GraphSample> graphs;
  for (std::uint64_t g = 0; g < 8; ++g) graphs.push_back(made_up_graph(4 + static_cast<std::int64_t>(g), g));
  return graphs;
}

GnnFitOptions small_fit() {
  GnnFitOptions options;
  options.architecture = {.features = 3, .hidden = 16, .outputs = 2, .leaky_output = false};
  options.architecture.readout_steps = {Repeats::Rule::fixed, 3};
  options.epochs = 12;
  options.batch = 3;
  return options;
}

// The tests use one thread, because these graphs are too small for more, and threads that share a core only
// wait for each other.
class FitGraphs : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(1); }
  void TearDown() override { set_thread_count(threads_); }

  const int threads_ = thread_count();
};

void expect_same_weights(const GnnModel& a, const GnnModel& b) {
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    EXPECT_EQ(a.parameters[i].numbers, b.parameters[i].numbers) << a.parameters[i].name;
}

double worst_relative_error(const GnnModel& model, const std::vector<GraphSample>& graphs) {
  double worst = 0;
  const auto predicted = predict(model, graphs);
  for (std::size_t g = 0; g < graphs.size(); ++g)
    for (std::size_t i = 0; i < graphs[g].labels.size(); ++i)
      if (graphs[g].knows(i))
        worst = std::max(worst, std::fabs(double{predicted[g][i]} / graphs[g].labels[i] - 1));
  return worst;
}

TEST_F(FitGraphs, OverfitsEightGraphs) {
  const auto graphs = eight_graphs();
  for (const Loss loss : {Loss::log, Loss::relative, Loss::squares}) {
    GnnFitOptions options = small_fit();
    options.loss = loss;
    options.architecture.leaky_output = loss == Loss::squares;
    options.architecture.hidden = 32;
    options.batch = 8;
    options.epochs = options.patience = 400;
    options.learning_rate = 0.005;
    const GnnFitResult result = fit(graphs, {}, options);
    EXPECT_LT(worst_relative_error(result.model, graphs), loss == Loss::squares ? 0.3 : 0.1) << name(loss);
  }
}

TEST_F(FitGraphs, LossIsTheMeanOverKnownLabels) {
  const auto graphs = eight_graphs();
  GnnFitOptions options = small_fit();
  options.loss = Loss::relative;
  options.batch = 100;
  options.epochs = 1;
  options.learning_rate = 1e-12;
  double reported = 0;
  options.hear = [&](const EpochReport& report) {
    reported = report.validation_loss;
    return true;
  };
  const GnnModel model = fit(graphs, graphs, options).model;
  const auto predicted = predict(model, graphs);
  double sum = 0;
  for (std::size_t g = 0; g < graphs.size(); ++g)
    for (std::size_t i = 0; i < 2; ++i) sum += std::pow(double{predicted[g][i]} / graphs[g].labels[i] - 1, 2);
  EXPECT_NEAR(reported, sum / 16, 1e-4 * sum / 16);
}

TEST_F(FitGraphs, RunsAgainWithTheSameBits) {
  const auto graphs = eight_graphs();
  const std::span<const GraphSample> all(graphs);
  const GnnFitOptions options = small_fit();
  const GnnFitResult first = fit(all.first(6), all.last(2), options),
                     second = fit(all.first(6), all.last(2), options);
  expect_same_weights(first.model, second.model);
  EXPECT_EQ(first.best_loss, second.best_loss);
  GnnFitOptions other = options;
  other.seed = 43;
  EXPECT_NE(fit(all.first(6), all.last(2), other).best_loss, first.best_loss);
}

TEST_F(FitGraphs, ResumedEndsWithTheSameBits) {
  const auto graphs = eight_graphs();
  const std::span<const GraphSample> all(graphs);
  GnnFitOptions options = small_fit();
  const GnnFitResult whole = fit(all.first(6), all.last(2), options);
  const TestFolder folder;
  options.folder = folder.path() / "fit";
  options.save_every = 2;
  for (const std::int64_t stop : {4, 5, 20}) {
    options.hear = [&](const EpochReport& report) { return report.epoch + 1 != stop; };
    const GnnFitResult part = fit(all.first(6), all.last(2), options);
    EXPECT_EQ(part.interrupted, stop < 12);
    options.resume = true;
    if (stop < 12) continue;
    EXPECT_EQ(part.epochs, whole.epochs);
    EXPECT_EQ(part.best_epoch, whole.best_epoch);
    EXPECT_EQ(part.best_loss, whole.best_loss);
    expect_same_weights(part.model, whole.model);
  }
  // Another fit must not resume from there.
  options.learning_rate *= 2;
  expect_error(ErrorKind::config, "is of another run: learning_rate 0.003 there, 0.006 asked",
               [&] { fit(all.first(6), all.last(2), options); });
  options.learning_rate /= 2;
  expect_error(ErrorKind::config, "training 6 graphs", [&] { fit(all.last(6), all.last(2), options); });
}

TEST_F(FitGraphs, StopsEarlyAndKeepsTheBest) {
  const auto graphs = eight_graphs();
  const std::span<const GraphSample> all(graphs);
  GnnFitOptions options = small_fit();
  options.epochs = 1000;
  options.patience = 5;
  options.learning_rate = 0.02;
  std::vector<double> losses;
  options.hear = [&](const EpochReport& report) {
    losses.push_back(report.validation_loss);
    return true;
  };
  const GnnFitResult result = fit(all.first(6), all.last(2), options);
  EXPECT_LT(result.epochs, 1000);
  EXPECT_EQ(result.epochs, result.best_epoch + 1 + options.patience);
  EXPECT_EQ(result.best_loss, *std::min_element(losses.begin(), losses.end()));
  EXPECT_EQ(result.best_loss, losses[static_cast<std::size_t>(result.best_epoch)]);
  // The weights are those of that epoch: fitted no further, they validate alike.
  GnnFitOptions again = small_fit();
  again.start = &result.model;
  again.learning_rate = 1e-12;
  again.epochs = 1;
  EXPECT_NEAR(fit(all.first(6), all.last(2), again).best_loss, result.best_loss, 1e-4 * result.best_loss);
}

// A column that is zero everywhere and unknown labels must not lead to a division by zero.
TEST_F(FitGraphs, MaskedLabelsCountForNothing) {
  auto graphs = eight_graphs();
  for (GraphSample& graph : graphs) {
    graph.labels.push_back(0);
    graph.known = {1, 1, 0};
  }
  GnnFitOptions options = small_fit();
  options.architecture.outputs = 3;
  const GnnFitResult masked = fit(graphs, {}, options);
  EXPECT_TRUE(std::isfinite(masked.best_loss));
  for (GraphSample& graph : graphs) graph.labels[2] = std::nanf("");
  expect_same_weights(fit(graphs, {}, options).model, masked.model);
  for (GraphSample& graph : graphs) graph.labels[2] = 0, graph.known.clear();
  options.loss = Loss::squares;
  EXPECT_TRUE(std::isfinite(fit(graphs, {}, options).best_loss));
  options.loss = Loss::log;
  expect_error(ErrorKind::config, "label 2 is 0; loss log wants labels above zero",
               [&] { fit(graphs, {}, options); });
  for (GraphSample& graph : graphs) graph.known = {0, 0, 0};
  expect_error(ErrorKind::config, "no label of the training graphs is known",
               [&] { fit(graphs, {}, options); });
}

TEST_F(FitGraphs, TransferTrainsWhatIsNotFrozen) {
  const auto graphs = eight_graphs();
  GnnFitOptions options = small_fit();
  const GnnModel before = fit(graphs, {}, options).model;
  auto wider = graphs;
  for (GraphSample& graph : wider) graph.labels.push_back(graph.labels[0] * 2);
  options.architecture.outputs = 3;
  options.start = &before;
  options.frozen = {"conv", "gru/", "set2set/"};
  const GnnFitResult result = fit(wider, {}, options);
  EXPECT_EQ(result.fresh, (std::vector<std::string>{"mlp2/weight", "mlp2/bias"}));
  for (const NamedTensor& tensor : result.model.parameters) {
    const NamedTensor* old = before.find(tensor.name);
    if (tensor.name.starts_with("mlp"))
      EXPECT_NE(tensor.numbers, old->numbers) << tensor.name;
    else
      EXPECT_EQ(tensor.numbers, old->numbers) << tensor.name;
  }
  EXPECT_EQ(result.model.scaling.feature_middle, before.scaling.feature_middle);
}

// Driple's transfer learning trained a layer that its network never ran.
TEST_F(FitGraphs, RefusesToTrainWhatGetsNoGradient) {
  std::vector<GraphSample> pairs;
  for (std::uint64_t g = 0; g < 4; ++g) pairs.push_back(made_up_graph(2, g));
  GnnFitOptions options = small_fit();  // one convolution on two nodes: the second is never applied
  expect_error(ErrorKind::config, "fit: 'conv1/bias' is to be trained but gets no gradient",
               [&] { fit(pairs, {}, options); });
  options.frozen = {"conv1/"};
  EXPECT_NO_THROW(fit(pairs, {}, options));
  options.frozen = {"conv2/"};
  expect_error(ErrorKind::config, "no parameter to freeze begins with 'conv2/'",
               [&] { fit(pairs, {}, options); });
  options.frozen = {"conv", "gru/", "set2set/", "mlp"};
  expect_error(ErrorKind::config, "all of its parameters are frozen", [&] { fit(pairs, {}, options); });
  const GnnModel start = fit(eight_graphs(), {}, small_fit()).model;
  options = small_fit();
  options.start = &start;
  options.architecture.hidden = 20;
  options.frozen = {"gru/"};
  expect_error(ErrorKind::config, "'gru/weight' is frozen, but the model to start with has one of 48x16",
               [&] { fit(eight_graphs(), {}, options); });
}

TEST_F(FitGraphs, ThreadsDoNotMatter) {
  const auto graphs = eight_graphs();
  GnnFitOptions options = small_fit();
  options.architecture.convolution = GraphConvolution::gin;
  options.epochs = 3;
  const GnnFitResult one = fit(graphs, {}, options);
  set_thread_count(2);
  const GnnFitResult many = fit(graphs, {}, options);
  EXPECT_NEAR(many.best_loss, one.best_loss, 1e-5 * one.best_loss);
}

TEST_F(FitGraphs, RefusesNonsense) {
  const auto graphs = eight_graphs();
  const auto refused = [&](const std::string& part, const std::function<void(GnnFitOptions&)>& change) {
    GnnFitOptions options = small_fit();
    change(options);
    expect_error(ErrorKind::config, part, [&] { fit(graphs, {}, options); });
  };
  refused("batch 0: wants at least 1", [](GnnFitOptions& options) { options.batch = 0; });
  refused("learning rate 0", [](GnnFitOptions& options) { options.learning_rate = 0; });
  refused("2 labels, 0 of them", [](GnnFitOptions& options) { options.architecture.outputs = 5; });
  refused("the loss is not finite", [](GnnFitOptions& options) { options.learning_rate = 1e30; });
  const std::vector<GraphSample> large{made_up_graph(100000, 1)};
  expect_error(ErrorKind::config, "graphs of together 100000 nodes, with up to 50000 convolutions, need",
               [&] { fit(large, {}, small_fit()); });
  expect_error(ErrorKind::config, "no graphs to train on", [] { fit({}, {}, small_fit()); });
}

}  // namespace
}  // namespace trainyard::predict
