// Tests the estimated times of a study's runs, both from the estimator itself and as `study plan` and `study
// run` print them.

#include "base/json.h"
#include "study/cell/cost.h"

#include <fstream>

#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"

namespace trainyard::cli_test {
namespace {

using study::EstimatedBy;
using study::Where;

// A second to start and a tenth for each step, between half of it and twice as much; knows no vgg16.
class TenthsPredictor : public predict::Predictor {
 public:
  explicit TenthsPredictor(std::vector<predict::JobDescription>& asked) : asked_(asked) {}

  std::vector<predict::Prediction> predict(std::span<const predict::JobDescription> jobs) override {
    std::vector<predict::Prediction> made;
    for (const predict::JobDescription& job : jobs) {
      if (job.network == "vgg16") fail(ErrorKind::config, "unknown network 'vgg16'");
      asked_.push_back(job);
      predict::Prediction& one = made.emplace_back();
      one.start_seconds = 1;
      one.step_seconds = 0.1;
      one.seconds = 1 + 0.1 * job.steps;
      one.low_seconds = one.seconds / 2;
      one.high_seconds = one.seconds * 2;
    }
    return made;
  }
  std::vector<predict::DeviceSheet> devices() const override { return {}; }
  bool knows(backend::Precision) const override { return true; }
  predict::Basis basis(const predict::JobDescription&) const override { return {}; }

 private:
  std::vector<predict::JobDescription>& asked_;
};

// Estimates a study that is given as text.
struct Estimated {
  explicit Estimated(const std::string& text)
      : spec(study::parse_spec(text, "some.yaml")),
        plan(study::make_plan(spec, [](const record::Settings&) { return ""; })) {
    model.predictor = std::make_unique<TenthsPredictor>(asked);
  }

  void estimate(bool with_model) {
    estimates = estimate_cells(spec, plan, earlier, with_model ? &model : nullptr);
  }
  const study::Estimate& of(std::size_t cell) const { return estimates.at(plan.cells.at(cell).hash); }
  record::RunRecord run_of(std::size_t cell, double seconds, record::Status status = record::Status::ok) {
    record::RunRecord run;
    run.cell = plan.cells.at(cell).hash;
    run.status = status;
    run.wall_seconds = seconds;
    return run;
  }
  std::vector<study::Job> jobs() const {
    std::vector<study::Job> jobs;
    for (const store::PlannedRun& run : plan.runs) jobs.push_back(make_job(spec, run, 1, "trainyard"));
    return jobs;
  }

  study::Spec spec;
  study::Plan plan;
  std::vector<predict::JobDescription> asked;
  study::CostModel model;
  std::vector<record::RunRecord> earlier;
  study::Estimates estimates;
};

TEST(StudyCostTest, MeasuredGoesBeforePredicted) {
  Estimated some(
      "study: some\nsettings: {network: lenet, steps: 20, warmup: 4, optimizer: adam}\n"
      "axes: {batch: [8, 16]}\norder: nested\n");
  some.earlier = {some.run_of(0, 3), some.run_of(0, 5), some.run_of(0, 100, record::Status::failed)};
  some.estimate(true);
  EXPECT_EQ(some.of(0).by, study::EstimatedBy::measured);
  EXPECT_DOUBLE_EQ(some.of(0).seconds, 4);
  EXPECT_EQ(some.of(1).by, study::EstimatedBy::predicted);
  EXPECT_DOUBLE_EQ(some.of(1).seconds, 3.4);
  ASSERT_EQ(some.asked.size(), 1u);
  EXPECT_EQ(some.asked[0].network, "lenet");
  EXPECT_EQ(some.asked[0].batch, 16);
  EXPECT_EQ(some.asked[0].optimizer, ops::Rule::adam);
  const study::RunsCost cost = study::cost_of_runs(some.estimates, some.jobs(), study::Where::this_machine);
  EXPECT_DOUBLE_EQ(cost.seconds, 7.4);
  EXPECT_DOUBLE_EQ(cost.low_seconds.value(), 5.7);
  EXPECT_DOUBLE_EQ(cost.high_seconds.value(), 10.8);
  EXPECT_EQ(cost.sources(), "1 measured, 1 predicted");
}

TEST(StudyCostTest, WhatNobodyKnowsHasItsReasonUntilSomethingWasMeasured) {
  Estimated some("study: some\naxes: {network: [lenet, vgg16], devices: [1, 2]}\norder: nested\n");
  some.estimate(true);
  EXPECT_TRUE(some.of(0).known());
  EXPECT_EQ(some.of(1).reason, "several devices");
  EXPECT_EQ(some.of(2).reason, "unknown network 'vgg16'");
  const study::RunsCost cost = study::cost_of_runs(some.estimates, some.jobs(), study::Where::this_machine);
  EXPECT_EQ(cost.unknown, 3);
  EXPECT_EQ(cost.reasons,
            (std::map<std::string, std::int64_t>{{"several devices", 2}, {"unknown network 'vgg16'", 1}}));
  some.earlier = {some.run_of(0, 3), some.run_of(1, 5)};
  some.estimate(false);
  EXPECT_EQ(some.of(3).by, study::EstimatedBy::similar);
  EXPECT_DOUBLE_EQ(some.of(3).seconds, 4);
}

TEST(StudyCostTest, StepsAreThoseOfTheCommand) {
  const auto steps = [](const std::string& text) {
    Estimated some("study: some\n" + text);
    some.estimate(true);
    return some.asked.at(0).steps;
  };
  EXPECT_EQ(steps("settings: {network: lenet}\n"), 55);  // as `bench` does
  EXPECT_EQ(steps("run: train\nsettings: {network: lenet, steps: 7}\n"), 7);
  EXPECT_EQ(steps("run: train\nsettings: {network: lenet, data: mnist, batch: 90, epochs: 2}\n"), 1334);
  EXPECT_EQ(steps("run: train\nsettings: {network: lenet, batch: 100}\n"), 100);  // synthetic
}

TEST(StudyCostTest, LimitsBoundAPrediction) {
  Estimated some(
      "study: some\ntime_limit: 90\nsettings: {network: lenet, steps: 1000, warmup: 10}\n"
      "axes: {max_seconds: [5, 1000]}\norder: nested\n");
  some.estimate(true);
  EXPECT_DOUBLE_EQ(some.of(0).seconds, 7);  // start, warm-up, timed steps
  EXPECT_DOUBLE_EQ(some.of(1).seconds, 90);
  EXPECT_DOUBLE_EQ(some.of(1).high_seconds.value(), 90);
}

TEST(StudyCostTest, ResourcesAreWhatTheJobsAskFor) {
  const auto hours = [](const std::string& settings, study::Where where) {
    Estimated some("study: some\nsettings: {network: lenet" + settings + "}\n");
    some.earlier = {some.run_of(0, 3600)};
    some.estimate(false);
    return study::cost_of_runs(some.estimates, some.jobs(), where);
  };
  const study::RunsCost here = hours(", threads: 3", study::Where::this_machine);
  EXPECT_DOUBLE_EQ(here.core_hours, 3);
  EXPECT_DOUBLE_EQ(here.gpu_hours, 0);
  EXPECT_FALSE(here.node_hours);
  const study::RunsCost nodes =
      hours(", nodes: 2, tasks_per_node: 3, cpus_per_task: 4, gpus: 5", study::Where::cluster);
  EXPECT_DOUBLE_EQ(nodes.core_hours, 24);
  EXPECT_DOUBLE_EQ(nodes.gpu_hours, 10);
  EXPECT_DOUBLE_EQ(nodes.node_hours.value(), 2);
}

TEST(StudyCostTest, TimeLeftFollowsHowFarOffTheEstimatesWere) {
  Estimated some("study: some\naxes: {batch: [1, 2, 4, 8]}\norder: nested\n");
  some.estimate(false);
  EXPECT_FALSE(study::TimeLeft(some.estimates, some.jobs()).known());
  some.estimates[some.plan.cells[0].hash] = {.by = study::EstimatedBy::predicted, .seconds = 2};
  some.estimates[some.plan.cells[1].hash] = {.by = study::EstimatedBy::predicted, .seconds = 10};
  study::TimeLeft left(some.estimates, some.jobs());  // the other two: 6 each
  ASSERT_TRUE(left.known());
  EXPECT_DOUBLE_EQ(left.seconds(), 24);
  left.finished(some.run_of(1, 30));
  EXPECT_DOUBLE_EQ(left.share(), 10.0 / 24);
  EXPECT_DOUBLE_EQ(left.seconds(), 3 * 14);
  left.finished(some.run_of(0, 0.1, record::Status::failed));
  EXPECT_DOUBLE_EQ(left.seconds(), 3 * 12);
  left.finished(some.run_of(2, 1));
  left.finished(some.run_of(3, 1));
  EXPECT_DOUBLE_EQ(left.share(), 1);
  EXPECT_DOUBLE_EQ(left.seconds(), 0);
}

class StudyEstimateTest : public CliTest {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }
  Json report_of(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
};

TEST_F(StudyEstimateTest, ThePlanSaysWhatAModelPredictsAndLaterWhatWasMeasured) {
  write("runs.csv", made_up_runs());
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  const std::string before =
      "study: small\nsettings: {network: lenet, steps: 35, warmup: 10, threads: 1, no_peak: true}\n";
  write("small.yaml", before + "axes: {batch: [2, 4]}\nreplicates: 2\norder: nested\n");
  expect_failure("study plan small.yaml --model model.json", 1,
                 "--device is required: 'model.json' is a model of GTX1080, RTX2070");
  EXPECT_GT(report_of("study plan small.yaml --device GTX1080 --json")["estimate"]["seconds"].get<double>(),
            0)
      << "by a model that the program carries";
  EXPECT_TRUE(report_of("study plan small.yaml --json")["estimate"]["seconds"].is_null());

  const std::string with_model = " small.yaml --model model.json --device GTX1080";
  const Json plan = report_of("study plan" + with_model + " --json");
  // `predict run` adds ten steps of a warm-up.
  const Json asked = report_of(
      "predict run --model model.json --network lenet --device GTX1080 --batch 2 --images 70 --json");
  EXPECT_NEAR(plan["cells"][0]["estimated_seconds"].get<double>(), asked["seconds"].get<double>(), 1e-9);
  EXPECT_EQ(plan["cells"][0]["estimated_by"], "predicted");
  const Json& left = plan["estimate"];
  EXPECT_EQ(left["predicted"], 4);
  EXPECT_EQ(left["unknown"], 0);
  EXPECT_TRUE(left["low_seconds"].is_null());
  EXPECT_TRUE(left["node_hours"].is_null());
  const auto seconds = left["seconds"].get<double>();
  EXPECT_NEAR(seconds,
              2 * (plan["cells"][0]["estimated_seconds"].get<double>() +
                   plan["cells"][1]["estimated_seconds"].get<double>()),
              1e-9);
  EXPECT_NEAR(left["core_hours"].get<double>(), seconds / 3600, 1e-12);
  const std::string text = run("study plan" + with_model).out;
  EXPECT_NE(text.find("left for 4 runs (4 predicted); "), std::string::npos) << text;
  EXPECT_NE(text.find("about  cell"), std::string::npos) << text;

  const CommandResult first = run("study run" + with_model);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(first.err.starts_with("trainyard: about ")) << first.err;
  EXPECT_NE(first.err.find(" for 4 runs (by the model model.json)\n"), std::string::npos) << first.err;

  write("small.yaml", before + "axes: {batch: [2, 4, 8]}\nreplicates: 3\norder: nested\n");
  const Json later = report_of("study plan small.yaml --json");
  EXPECT_EQ(later["done"], 4);
  EXPECT_EQ(later["estimate"]["measured"], 2);
  EXPECT_EQ(later["estimate"]["similar"], 3);
  const Json& cells = later["cells"];
  EXPECT_EQ(cells[0]["estimated_by"], "measured");
  EXPECT_EQ(cells[2]["estimated_by"], "similar");
  EXPECT_NEAR(cells[2]["estimated_seconds"].get<double>(),
              (cells[0]["estimated_seconds"].get<double>() + cells[1]["estimated_seconds"].get<double>()) / 2,
              1e-9);
  EXPECT_EQ(run("study run small.yaml --quiet").err, "");
  EXPECT_EQ(report_of("study plan small.yaml --json")["estimate"]["seconds"], 0);
}

TEST_F(StudyEstimateTest, WhatTheModelCannotPredictIsSaidOnce) {
  write("runs.csv", made_up_runs());
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  write("any.yaml", "study: any\nrun: program\nprogram: ['true']\naxes: {x: [1, 2]}\n");
  const CommandResult result = run("study plan any.yaml --model model.json --device GTX1080 --json");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "trainyard: 2 of 2 runs have no estimate: run: program\n");
  const Json plan = parse_json(result.out);
  EXPECT_EQ(plan["estimate"]["unknown"], 2);
  EXPECT_TRUE(plan["estimate"]["seconds"].is_null());
  EXPECT_TRUE(plan["cells"][0]["estimated_by"].is_null());
}

}  // namespace
}  // namespace trainyard::cli_test
