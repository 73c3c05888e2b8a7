#include "predict/kernels/kernel_memory.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "base/test_folder.h"
#include "engine/executor.h"
#include "plan/compile.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/kernels/kernel_model.h"
#include "predict/kernels/measured_run.h"
#include "predict/kernels/planned_step.h"
#include "predict/read_predictor.h"

namespace trainyard::predict {
namespace {

const StandInKernels kAllWithout{[](const graph::NodeView&) { return true; },
                                 [](const graph::NodeView&) { return 0.0; }};

// This law of workspace gives convolutions twice the images and once the weights, and other ops none.
double space_by_law(const NodeOperands& node) {
  return 2 * (node.src_bytes + node.dst_bytes) + node.weight_bytes;
}

// Makes a run on a GPU whose kernels follow it, with 30 MB beside its plan and 50 kB for each recorded
// kernel.
TableRun gpu_run_by_law(const char* network, std::int64_t batch, double step_seconds = 1e-3) {
  TableRun run{.device = "H200", .network = network, .batch = batch, .epochs = 50};
  run.images_per_epoch = static_cast<double>(batch);
  run.warmup_steps = 0;
  run.with_start = false;
  run.seconds = run.steps() * step_seconds;
  const networks::Model model = training_model(work_options(describe(run, {})));
  const OperandsByName operands = operands_by_name(model.graph, run.precision);
  const auto space = [&](const graph::NodeView& node) {
    return node.node().op->category == graph::Category::conv ? space_by_law(operands.at(node.node().name))
                                                             : 0;
  };
  const plan::StepPlan plan =
      plan::compile(model.graph, *make_gpu_stand_in({kAllWithout.takes, space}, 141e9), {}).plan;
  for (const plan::Step& step : plan.steps)
    run.kernels.push_back(
        {step.name, step.op, 1e-5,
         step.workspace < 0
             ? 0
             : static_cast<double>(plan.buffers[static_cast<std::size_t>(step.workspace)].bytes)});
  run.memory = {.plan_bytes = static_cast<double>(plan.total_bytes()), .backend = "cuda", .threads = 8};
  const double recorded = step_seconds < 0.0125 ? 17 : 1;
  run.memory.peak_bytes =
      run.memory.plan_bytes + 30e6 + 50e3 * recorded * static_cast<double>(plan.steps.size());
  return run;
}

RunSet gpu_set_by_law() {
  RunTable table{"by law", {}};
  for (const char* network : {"resnet20", "resnet32", "cifarnet", "densenet40_k12"})
    for (const std::int64_t batch : {4, 16, 64})
      for (const double step_seconds : {1e-3, 0.1})
        table.runs.push_back(gpu_run_by_law(network, batch, step_seconds));
  return prepare_runs(table, known_devices());
}

TEST(PlannedStepTest, OfTheHostIsWhatItsExecutorHas) {
  for (const char* network : {"resnet20", "mobilenet_v1", "alexnet_v2", "lenet"}) {
    const JobDescription job{.network = network, .batch = 2, .optimizer = ops::Rule::momentum};
    const networks::Model model = training_model(work_options(job));
    const auto backend = backend::make_backend("auto");
    const engine::Executor executor(plan::compile(model.graph, *backend, {}));
    const double real = static_cast<double>(executor.plan().total_bytes());
    EXPECT_NEAR(plan_step(job, {.backend = backend->name(), .threads = 0, .habits = {}}).need.total() / real,
                1, 1e-3)
        << network;
  }
}

TEST(PlannedStepTest, ThreadsAreThoseOfTheRunsAndOnlyForThePlan) {
  const int before = thread_count();
  plan_step({.network = "lenet", .batch = 2}, {.backend = "onednn", .threads = before + 3, .habits = {}});
  EXPECT_EQ(thread_count(), before);
}

// The expected bytes of plans and of their workspace come from records of an H200.
TEST(GpuStandInTest, PlansAsTheGpuDid) {
  struct Planned {
    const char* network;
    std::int64_t batch;
    backend::Precision precision;
    ops::Rule rule;
    std::size_t plan_bytes, workspace_bytes;
  };
  constexpr auto f32 = backend::Precision::f32, bf16 = backend::Precision::bf16;
  for (const Planned& was : {Planned{"resnet20", 32, f32, ops::Rule::sgd, 250025664, 157396736},
                             Planned{"resnet20", 256, bf16, ops::Rule::sgd, 400499328, 34911744},
                             Planned{"resnet110", 32, bf16, ops::Rule::sgd, 262275648, 10283840},
                             Planned{"densenet40_k12", 32, bf16, ops::Rule::sgd, 642889024, 222440832},
                             Planned{"mobilenet_v1", 16, f32, ops::Rule::momentum, 1600109632, 561351360},
                             Planned{"resnet18", 32, f32, ops::Rule::momentum, 3686034048, 2376261120}}) {
    const networks::Model model =
        training_model({.network = was.network, .batch = was.batch, .optimizer = was.rule});
    const auto stand_in = make_gpu_stand_in(kAllWithout, 141e9);
    const plan::StepPlan plan = plan::compile(model.graph, *stand_in, {.precision = was.precision}).plan;
    EXPECT_EQ(plan.total_bytes() + was.workspace_bytes, was.plan_bytes) << was.network << " " << was.batch;
  }
}

// Recomputation needs nothing of a backend but that it takes the nodes.
TEST(GpuStandInTest, PlansWithALimit) {
  constexpr auto bf16 = backend::Precision::bf16;
  for (const char* network : {"resnet20", "resnet50", "gpt_char", "vit"})
    for (const double memory_bytes : {100e6, 141e9}) {
      SCOPED_TRACE(network);
      const networks::Model model = training_model({.network = network, .batch = 8});
      const auto stand_in = make_gpu_stand_in(kAllWithout, memory_bytes);
      const plan::StepPlan whole =
          plan::compile(model.graph, *make_gpu_stand_in(kAllWithout, 0), {.precision = bf16}).plan;
      const std::size_t limit = whole.total_bytes() - whole.bytes(plan::Region::slab) / 4;
      const plan::StepPlan plan =
          plan::compile(model.graph, *stand_in, {.precision = bf16, .limit_bytes = limit}).plan;
      EXPECT_LE(plan.total_bytes(), limit);
      EXPECT_GT(plan.recomputed_work().bytes_moved, 0);
      EXPECT_EQ(plan.work().flops, whole.work().flops);
      for (const plan::Step& step : plan.steps)
        if (step.recomputed) {
          EXPECT_EQ(step.phase, graph::Phase::backward) << step.name;
        }
    }
}

TEST(GpuStandInTest, SharesMemoryWhereThereIsLittle) {
  const networks::Model model = training_model({.network = "resnet20", .batch = 32});
  const auto bytes = [&](double memory_bytes) {
    return plan::compile(model.graph, *make_gpu_stand_in(kAllWithout, memory_bytes), {}).plan.total_bytes();
  };
  EXPECT_LT(3 * bytes(200e6), 2 * bytes(100e9));
  EXPECT_EQ(bytes(0), bytes(200e6));
}

TEST(KernelHabitsTest, FindsTheLawOfWorkingSpaceAndItsLimit) {
  std::vector<NodeHabit> seen;
  const auto add = [&](const char* network, std::int64_t batch) {
    const JobDescription job{.network = network, .batch = batch};
    const networks::Model model = training_model(work_options(job));
    for (const auto& [name, node] : operands_by_name(model.graph, job.precision))
      if (node.weight_bytes > 0)
        seen.push_back({.op = "conv2d", .node = node, .ratio = space_by_law(node) / node.bytes()});
  };
  for (const char* network : {"resnet20", "resnet18", "googlenet"})
    for (const std::int64_t batch : {4, 32}) add(network, batch);
  const KernelHabits habits(seen);
  const networks::Model model = training_model({.network = "resnet50", .batch = 8});
  double law = 0, made = 0;
  for (const auto& [name, node] : operands_by_name(model.graph, backend::Precision::f32))
    if (node.weight_bytes > 0) {
      law += space_by_law(node);
      made += habits.workspace_bytes("conv2d", node);
    }
  EXPECT_NEAR(made / law, 1, 0.05);
  NodeOperands huge = seen.front().node;
  huge.src_bytes = huge.dst_bytes = 1e12;
  EXPECT_EQ(habits.workspace_bytes("conv2d", huge), 0);
  EXPECT_EQ(habits.workspace_bytes("dense", huge), 0);
}

TEST(KernelHabitsTest, FusedNodesAreTakenAsTheirLikeWere) {
  NodeOperands small{.src_bytes = 1, .dst_bytes = 1, .weight_bytes = 1}, large = small;
  large.place[0] = 3;
  const KernelHabits habits(
      {{.op = "classify", .node = small, .taken = true}, {.op = "classify", .node = large, .taken = false}});
  EXPECT_TRUE(habits.takes("classify", small));
  EXPECT_FALSE(habits.takes("classify", large));
  EXPECT_TRUE(habits.takes("dense_chain", large));
}

TEST(KernelMemoryTest, PredictsANetworkThatWasNeverSeen) {
  const RunSet set = gpu_set_by_law();
  const KernelMemory memory = fit_kernel_memory(set, all_rows(set));
  ASSERT_EQ(memory.devices().size(), 1u);
  for (const double step_seconds : {1e-3, 0.1}) {
    const TableRun other = gpu_run_by_law("resnet56", 32, step_seconds);
    const JobDescription job = describe(other, set.devices[0]);
    const MemoryNeed need =
        memory.need(memory.plan(job, memory.find("H200", job.precision)), 0, step_seconds, other.steps());
    EXPECT_NEAR(need.total() / other.memory.peak_bytes, 1, 0.05) << step_seconds;
    EXPECT_NEAR(need.overhead / (other.memory.peak_bytes - other.memory.plan_bytes), 1, 0.1) << step_seconds;
  }
}

TEST(KernelMemoryTest, OfFewRunsOnlyTheMedianOverheadIsLearned) {
  RunSet set = gpu_set_by_law();
  const KernelMemory memory = fit_kernel_memory(set, {0, 1, 2});
  EXPECT_GT(memory.devices()[0].overhead[0], 30e6);
  for (std::size_t t = 1; t < kOverheadTerms; ++t) EXPECT_EQ(memory.devices()[0].overhead[t], 0);
  for (RunSet::Row& row : set.rows) row.run.memory = {};
  EXPECT_TRUE(fit_kernel_memory(set, all_rows(set)).empty());
}

TEST(KernelMemoryTest, RunsThatKnowOnlyTheirPlanTeachItsWorkingSpace) {
  const RunSet all = gpu_set_by_law();
  RunSet some = all;
  for (std::size_t r = 0; r < some.rows.size(); r += 2) some.rows[r].run.memory.peak_bytes = 0;
  const KernelMemory memory = fit_kernel_memory(some, all_rows(some));
  ASSERT_EQ(memory.devices().size(), 1u);
  EXPECT_EQ(memory.devices()[0].habits.size(),
            fit_kernel_memory(all, all_rows(all)).devices()[0].habits.size());
  EXPECT_GT(memory.devices()[0].overhead[0], 0);
  for (RunSet::Row& row : some.rows) row.run.memory.peak_bytes = 0;
  EXPECT_TRUE(fit_kernel_memory(some, all_rows(some)).empty());
}

TEST(KernelMemoryTest, ModelsKeepItInTheirFilesAndDoWithoutItWhereThereIsNone) {
  const RunSet set = gpu_set_by_law();
  const KernelModel model = fit_kernel_model(set, all_rows(set), false);
  const TestFolder folder;
  write_model_container(folder.path() / "model", to_container(model));
  const JobDescription job = describe(set.rows[5].run, set.devices[0]);
  const Prediction direct = make_predictor(model)->predict(job),
                   read = read_predictor(folder.path() / "model")->predict(job);
  EXPECT_GT(direct.memory.overhead, 0);
  EXPECT_EQ(direct.memory.total(), read.memory.total());
  ModelContainer container = to_container(model);
  std::get<std::vector<double>>(container.tensors[2].numbers)[1] = 1e5;  // an op that is not there
  expect_error(ErrorKind::config, "memory is out of bounds", [&] { parse_kernel_model(container, "model"); });
  container.tensors.pop_back();
  const Prediction without = make_predictor(parse_kernel_model(container, "model"))->predict(job);
  EXPECT_EQ(without.memory.overhead, 0);
  EXPECT_GT(without.memory.total(), 0);
}

TEST(KernelMemoryTest, AStepTooLargeForTheDeviceIsForeseen) {
  const RunSet set = gpu_set_by_law();
  const auto predictor = make_predictor(fit_kernel_model(set, all_rows(set), false));
  JobDescription job{.network = "densenet40_k12", .batch = 64, .device = set.devices[0]};
  EXPECT_LT(predictor->predict(job).oom_probability, 0.01);
  job.batch = 1 << 20;
  EXPECT_GT(predictor->predict(job).oom_probability, 0.99);
}

}  // namespace
}  // namespace trainyard::predict
