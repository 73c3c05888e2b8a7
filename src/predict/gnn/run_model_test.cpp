#include "predict/gnn/run_model.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "base/test_folder.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/gnn/run_labels.h"
#include "predict/read_predictor.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

// lenet and resnet20 by the made-up law, with shares that grow with the batch.
RunSet small_set() {
  RunTable table = made_up_table();
  std::erase_if(table.runs, [](const TableRun& run) { return run.network == "densenet40_k12"; });
  for (TableRun& run : table.runs) {
    const double share = static_cast<double>(run.batch) / 80;
    run.use = {{"GPU Util%", share, 1 - share, 0.5}};
  }
  return prepare_runs(table, known_devices());
}

GraphRunFit quick_fit(std::int64_t epochs) { return {.groups = 6, .epochs = epochs, .patience = epochs}; }

// The tests use one thread, as FitGraphs does.
class GraphRunModelTest : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(1); }
  void TearDown() override { set_thread_count(threads_); }

  const int threads_ = thread_count();
};

TEST_F(GraphRunModelTest, GraphsSayOpsSumsAndDevice) {
  const RunSet set = small_set();
  JobGraphs graphs({.groups = 6, .op_types = {"conv2d"}});
  JobDescription job = jobs_of(set, {0}).front();
  const GraphSample one = graphs.sample(job);
  check_sample(one, graphs.form().features(), 0);
  EXPECT_LE(one.nodes, 7);
  job.batch *= 2;
  const GraphSample larger = graphs.sample(job);
  EXPECT_GT(larger.features[1], one.features[1]);  // flops of the same group
  job.device.flops_per_second *= 2;
  EXPECT_NE(graphs.sample(job).features, larger.features);
}

TEST_F(GraphRunModelTest, LabelsAreStepsWithoutTheStartAndShares) {
  const RunSet set = small_set();
  EXPECT_NEAR(start_seconds_of(set, rows_of_device(set, "TitanX")), 10, 1e-6);
  EXPECT_EQ(start_seconds_of(set, {0}), 0);
  for (const double share : {0.001, 0.3, 0.97})
    EXPECT_NEAR(share_of_label(label_of_share(share)), share, 1e-4);
}

TEST_F(GraphRunModelTest, LearnsStoresAndPredictsAgain) {
  const RunSet set = small_set();
  const GraphRunResult first = fit_graph_runs(set, all_rows(set), {}, quick_fit(50));
  const auto predictor = make_predictor(first.model);
  const Score fitted = score(judge(*predictor, set, all_rows(set)));
  EXPECT_LT(fitted.mape, 0.5);
  EXPECT_GT(fitted.spearman, 0.9);
  EXPECT_GT(first.model.half_interval, 0);
  const std::vector<UseScore> use = score_use(set, judge(*predictor, set, all_rows(set)));
  ASSERT_EQ(use.size(), 2u);
  EXPECT_LT(use[0].error, use[0].usual_error);

  const TestFolder folder;
  write_graph_run_model(first.model, folder.path() / "model");
  const auto read = read_predictor(folder.path() / "model");
  EXPECT_EQ(read->devices(), set.devices);
  const JobDescription job = jobs_of(set, {0}).front();
  EXPECT_EQ(read->predict(job).seconds, predictor->predict(job).seconds);
  EXPECT_EQ(read->predict(job).use.at(0).burst, predictor->predict(job).use.at(0).burst);
  EXPECT_GT(read->predict(job).memory.total(), 0);

  // Few runs of another device move only the layers behind the readout.
  GraphRunFit few = quick_fit(2);
  few.base = &first.model;
  const GraphRunModel adapted = fit_graph_runs(set, {0, 1, 2, 3}, {}, few).model;
  for (const NamedTensor& tensor : adapted.network.parameters)
    EXPECT_EQ(tensor.numbers == first.model.network.find(tensor.name)->numbers,
              !tensor.name.starts_with("mlp"))
        << tensor.name;
}

TEST_F(GraphRunModelTest, EitherConvolutionIsLearnedAndKept) {
  const RunSet set = small_set();
  GraphRunFit sums = quick_fit(2);
  sums.convolution = GraphConvolution::gin;
  const GraphRunModel model = fit_graph_runs(set, {0, 1, 2, 3}, {}, sums).model;
  EXPECT_EQ(model.network.architecture.convolution, GraphConvolution::gin);
  GraphRunFit few = quick_fit(1);
  few.base = &model;
  EXPECT_EQ(fit_graph_runs(set, {0, 1}, {}, few).model.network.architecture.convolution,
            GraphConvolution::gin);
}

TEST_F(GraphRunModelTest, FilesThatDoNotFitAreRefused) {
  GraphRunModel model;
  model.network.architecture = {.features = model.form.features(), .outputs = 2};
  model.network.scaling = no_scaling(model.network.architecture);
  model.network.scaling.loss = Loss::log;
  for (const auto& [name, shape] : parameter_shapes(model.network.architecture))
    model.network.parameters.push_back(
        {name, shape, std::vector<float>(static_cast<std::size_t>(shape.elements()))});
  const auto refused = [](const std::string& part, const GraphRunModel& broken) {
    expect_error(ErrorKind::config, part, [&] { parse_graph_run_model(to_container(broken), "here"); });
  };
  refused("of 20 features and 2 outputs, wants 20 and 1", model);
  model.form.op_types = {"conv2d"};
  refused("wants 21 and 1", model);
  model.form.groups = 1000;
  refused("groups: wants a number from 1 to 100", model);
  model.form.groups = 10;
  model.network.parameters.pop_back();
  refused("is missing", model);
}

}  // namespace
}  // namespace trainyard::predict
