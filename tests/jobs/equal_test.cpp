// Workers together compute the same result as one process.

#include <fmt/core.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/json.h"
#include "data/view/batch_maker.h"
#include "engine/checkpoint.h"
#include "jobs/job_fixture.h"
#include "networks/zoo/zoo.h"
#include "train/loop/run_folder.h"
#include "train/session/evaluate.h"

namespace trainyard::jobs_test {
namespace {

using plan::Region;

constexpr int kSteps = 5, kBatch = 4;

class EqualTest : public JobTest {
 protected:
  // One process that makes the gradients of all workers one after the other, adds them in their order and
  // divides. Leaves a checkpoint.
  void accumulate(const std::string& network, const std::string& optimizer, int workers,
                  const std::string& folder) const {
    const train::MatchedInput input = train::match_input(networks::find_network(network), dataset(), "");
    train::SessionOptions options;
    options.model = {
        .network = network, .batch = kBatch, .classes = dataset().classes, .input = input.network};
    if (optimizer == "momentum") options.update.rule = ops::Rule::momentum;
    if (optimizer == "adam") options.update.rule = ops::Rule::adam;
    options.update.schedule.rate = optimizer == "adam" ? 1e-3 : 1e-2;
    options.update.momentum = 0.9;
    options.threads = 1;
    options.keep_gradients = true;
    train::Session session(options);
    const data::ImageBatches maker(dataset(),
                                   {.preprocess = input.preprocess, .batch = kBatch, .seed = options.seed});
    for (std::int64_t step = 0; step < kSteps; ++step) one_update(session, maker, step, workers);
    engine::CheckpointHeader header = train::run_identity(options, dataset(), input.preprocess, workers);
    header.step = kSteps;
    engine::save_checkpoint(session.executor(), header, {work() / folder, 1});
  }

  // Below what the plan of a worker takes by itself, for sgd.
  static std::size_t tight_limit() {
    train::SessionOptions options;
    options.model = {
        .network = "transformer",
        .batch = kBatch,
        .parameters = {
            {"layers", "4"}, {"width", "16"}, {"heads", "2"}, {"length", "24"}, {"vocabulary", "32"}}};
    options.threads = 1;
    options.keep_gradients = true;
    const train::Session session(options);
    const plan::StepPlan& plan = session.executor().plan();
    return plan.total_bytes() - plan.bytes(Region::slab) / 4;
  }

  // After the same steps, to the bit.
  void expect_same(const std::string& folder, const std::string& as) const {
    EXPECT_EQ(saved_step(folder), kSteps);
    EXPECT_TRUE(manifest(folder)["tensors"] == manifest(as)["tensors"]);
    EXPECT_FALSE(tensors(as).empty());
    EXPECT_TRUE(tensors(folder) == tensors(as))
        << folder << " and " << as << " differ by " << largest_difference(tensors(folder), tensors(as));
  }

 private:
  static void one_update(train::Session& session, const data::BatchMaker& maker, std::int64_t step,
                         int workers) {
    engine::Executor& executor = session.executor();
    HostTensor images(maker.input_shape(), DType::f32), labels({kBatch}, DType::i32);
    data::BatchMaker::Scratch scratch = maker.scratch();
    std::vector<float> sum;
    for (int worker = 0; worker < workers; ++worker) {
      const std::int64_t batch = step * workers + worker;
      maker.make(batch, images.data(), labels.as<std::int32_t>().data(), scratch);
      executor.write(train::Session::kImages, images);
      executor.write(train::Session::kLabels, labels);
      executor.run_gradients({maker.options().seed, batch});
      const std::span<const float> gradient = executor.floats(Region::gradients);
      sum.resize(gradient.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = worker == 0 ? gradient[i] : sum[i] + gradient[i];
    }
    if (workers > 1)
      for (float& value : sum) value /= static_cast<float>(workers);
    std::copy(sum.begin(), sum.end(), executor.floats(Region::gradients).begin());
    executor.run_update({maker.options().seed, step});
  }
};

std::string job(const std::string& network, int workers, const std::string& rest) {
  return fmt::format("--network {} --batch {} --steps {} --workers {} --threads {} --lease 30 --no-eval {}",
                     network, kBatch, kSteps, workers, workers, rest);
}

struct Problem {
  int workers, servers;
  const char *network, *optimizer;
};

class BspTest : public EqualTest, public testing::WithParamInterface<Problem> {};

TEST_P(BspTest, IsOneProcessThatAccumulatesInWorkerOrderToTheBit) {
  const auto& [workers, servers, network, optimizer] = GetParam();
  const Json record = record_of(job(
      network, workers, fmt::format("--servers {} --mode bsp --optimizer {} --out bsp", servers, optimizer)));
  EXPECT_EQ(gradients(record), kSteps * workers);
  accumulate(network, optimizer, workers, "one");
  expect_same("bsp", "one");
}

INSTANTIATE_TEST_SUITE_P(
    All, BspTest,
    testing::Values(Problem{1, 1, "lenet", "sgd"}, Problem{1, 2, "cifarnet", "momentum"},
                    Problem{1, 3, "lenet", "adam"}, Problem{2, 1, "cifarnet", "sgd"},
                    Problem{2, 2, "lenet", "momentum"}, Problem{2, 3, "cifarnet", "adam"},
                    Problem{3, 1, "lenet", "momentum"}, Problem{3, 2, "cifarnet", "adam"},
                    Problem{3, 3, "lenet", "sgd"}, Problem{4, 1, "cifarnet", "adam"},
                    Problem{4, 2, "lenet", "adam"}, Problem{4, 3, "cifarnet", "momentum"}),
    [](const auto& problem) {
      return fmt::format("{}_workers_{}_servers_{}_{}", problem.param.workers, problem.param.servers,
                         problem.param.network, problem.param.optimizer);
    });

TEST_F(EqualTest, OtherWaysToTheSame) {
  const std::string two = "--servers 2 --optimizer momentum --mode ";
  record_of(job("cifarnet", 2, two + "bsp --out bsp"));
  record_of(job("cifarnet", 2, two + "ssp:0 --out ssp"));
  expect_same("ssp", "bsp");
  record_of(job("cifarnet", 2, two + "bsp --wire-layout canonical --out canonical"));
  expect_same("canonical", "bsp");
  const Json f32 = record_of(job("cifarnet", 2, two + "bsp --transport tcp --out tcp"));
  expect_same("tcp", "bsp");

  const Json bf16 = record_of(job("cifarnet", 2, two + "bsp --transport tcp --wire bf16 --out bf16"));
  EXPECT_LT(largest_difference(tensors("bf16"), tensors("bsp")), 5e-3f);
  EXPECT_FALSE(tensors("bf16") == tensors("bsp"));
  EXPECT_NEAR(bf16["exchanged_bytes"].get<double>() / f32["exchanged_bytes"].get<double>(), 0.5, 0.05);
}

TEST_F(EqualTest, ALimitOfThePlanChangesNoBit) {
  const std::string deep =
      "--layers 4 --width 16 --heads 2 --length 24 --vocabulary 32 --data language:3 --servers 2 --mode bsp ";
  record_of(job("transformer", 2, deep + "--out free"));
  const std::size_t limit = tight_limit();
  Json record =
      record_of(job("transformer", 2, fmt::format("{} --memory-limit {} --out limited", deep, limit)));
  expect_same("limited", "free");
  EXPECT_GT(record["recomputed_bytes_per_step"], 0);
  EXPECT_LE(record["plan_bytes"], limit);
}

TEST_F(EqualTest, ATransformerWithServersIsThatOfAllReduce) {
  const std::string transformer =
      "--layers 2 --width 16 --heads 2 --length 12 --vocabulary 32 --data language:3 --optimizer momentum ";
  const Json served = record_of(job("transformer", 2, transformer + "--servers 2 --mode bsp --out bsp"));
  EXPECT_EQ(gradients(served), kSteps * 2);
  record_of(job("transformer", 2, transformer + "--servers 1 --mode ssp:0 --out ssp"));
  expect_same("ssp", "bsp");
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices of one process want two cores";
  record_of(job("transformer", 2, transformer + "--mode allreduce --collective local --out allreduce"));
  EXPECT_LT(largest_difference(tensors("bsp"), tensors("allreduce")), 1e-6f);
}

TEST_F(EqualTest, OneProcessWithTheWholeBatchAndAllReduceToRounding) {
  record_of(job("cifarnet", 2, "--servers 2 --mode bsp --optimizer momentum --out bsp"));
  record_of(
      fmt::format("--network cifarnet --batch {} --steps {} --threads 1 --no-eval --optimizer momentum "
                  "--out whole",
                  2 * kBatch, kSteps));
  EXPECT_LT(largest_difference(tensors("bsp"), tensors("whole")), 1e-5f);
  record_of(job("cifarnet", 2, "--mode allreduce --collective local --optimizer momentum --out allreduce"));
  EXPECT_LT(largest_difference(tensors("bsp"), tensors("allreduce")), 1e-6f);
}

}  // namespace
}  // namespace trainyard::jobs_test
