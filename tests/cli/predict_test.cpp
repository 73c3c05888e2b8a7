// Tests that `predict` and `place` keep the promises that every command makes.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"
#include "trainyard/trainyard.h"
#include "weights/test_state_dict.h"

namespace trainyard::cli_test {
namespace {

class PredictCliTest : public CliTest {
 protected:
  PredictCliTest() {
    std::ofstream(work() / "runs.csv") << made_up_runs();
    std::ofstream(work() / "jobs.yaml") << "jobs:\n  - {network: lenet, epochs: 3, count: 2}\n";
    std::ofstream(work() / "cluster.yaml") << "slots:\n  - {device: GTX1080}\n  - {device: RTX2070}\n";
  }
  Json report_of(const std::string& arguments) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
};

TEST_F(PredictCliTest, WhatIsFittedCanBeJudgedAndAsked) {
  const auto fitted = report_of("predict fit runs.csv -o model.json --no-intervals --json");
  EXPECT_EQ(fitted["runs"], 24);
  EXPECT_LT(fitted["fitted"]["mape"], 0.1);
  const auto judged = report_of("predict eval --runs runs.csv --model model.json --json");
  EXPECT_EQ(judged["by_all"]["all"]["mape"], fitted["fitted"]["mape"]);
  const auto held = report_of("predict eval --runs runs.csv --split network --json");
  EXPECT_EQ(held["held_out"].size(), 3u);
  EXPECT_TRUE(held.contains("median_of_mape"));
  const auto adapted =
      report_of("predict eval --runs runs.csv --from GTX1080 --to RTX2070 --shots 0,4 --json");
  EXPECT_EQ(adapted["held_out"].size(), 2u);
  const auto asked =
      report_of("predict run --model model.json --network vgg19 --device GTX1080 --batch 512 --json");
  EXPECT_GT(asked["oom_probability"], 0.99);
  EXPECT_GT(asked["seconds"], 100);
  for (const char* key : {"step_seconds", "start_seconds", "interval", "memory", "utilisation"})
    EXPECT_TRUE(asked.contains(key)) << key;
  EXPECT_NEAR(asked["utilisation"]["gpu_util"]["burst"].get<double>(), 0.9, 0.01);
  EXPECT_NEAR(asked["utilisation"]["gpu_util"]["idle"].get<double>(), 0.1, 0.01);
  EXPECT_LT(judged["utilisation"]["gpu_util"]["peak"]["error_points"], 1);
  expect_failed(run("predict eval --runs runs.csv --kind kernels --from GTX1080 --to TitanX"), 1,
                "no run has the seconds of its kernels");
  expect_failed(run("predict run --model model.json --network lenet --device GTX1080 --precision bf16"), 1,
                "this model was fitted to f32 alone");
  expect_failed(run("predict run --model runs.csv --network lenet --device GTX1080"), 1, "is no model file");
  const auto placed = report_of("place jobs.yaml --cluster cluster.yaml --model model.json --json");
  EXPECT_EQ(placed["policies"][0]["decisions"].size(), 2u);
}

TEST_F(PredictCliTest, TheProgramCarriesModels) {
  const auto asked = report_of("predict run --network resnet50 --device H200 --batch 64 --json");
  EXPECT_EQ(asked["based_on"]["model"], "h200 (kernels)");
  EXPECT_TRUE(asked["based_on"]["device_seen"].get<bool>());
  EXPECT_GT(asked["based_on"]["family_runs"], 0);
  EXPECT_GT(asked["step_seconds"], 0.01);
  EXPECT_LT(asked["interval"]["low"], asked["seconds"]);
  EXPECT_GT(asked["memory"]["total"], 1e9);
  const auto generated =
      report_of("predict run --network transformer --layers 8 --device h200 --precision bf16 --json");
  EXPECT_EQ(generated["based_on"]["device"], "H200");
  const auto published = report_of("predict run --network vgg16 --device titan-x --json");
  EXPECT_EQ(published["based_on"]["model"], "published (analytic)");
  const CommandResult text = run("predict run --network lenet --device A100");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("H200, the device most like it"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("no run of A100 was seen"), std::string::npos) << text.out;
  expect_failed(run("predict run --network lenet --device H20"), 1,
                "unknown device 'H20' (did you mean 'H200'?); known are H200");
  const auto judged = report_of("predict eval --runs runs.csv --json");
  EXPECT_GT(judged["by_all"]["all"]["runs"], 0);
  const auto placed = report_of("place jobs.yaml --cluster cluster.yaml --json");
  EXPECT_EQ(placed["policies"][0]["decisions"].size(), 2u);
}

TEST_F(PredictCliTest, TheLibraryCarriesModels) {
  const auto asked = report_of(
      "predict run --network resnet50 --device H200 --batch 64 --precision bf16 --optimizer momentum --json");
  const PredictedRun made =
      StepPredictor().predict(Network::named("resnet50"),
                              {.device = "H200", .batch = 64, .optimizer = "momentum", .precision = "bf16"});
  EXPECT_EQ(made.step_seconds, asked["step_seconds"].get<double>());
  EXPECT_TRUE(made.device_seen);
}

TEST_F(PredictCliTest, ThisMachineIsMeasuredOnceAndAnswers) {
  const std::string words = "predict run --network lenet --device here --batch 8 ";
  const CommandResult first = run(words);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.err.find("measured this machine"), std::string::npos) << first.err;
  EXPECT_NE(first.out.find("cpu (kernels): "), std::string::npos) << first.out;
  const CommandResult second = run(words);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.err, "");
}

TEST_F(PredictCliTest, FewRunsAdaptAModelOfKernels) {
  std::string records;
  for (const std::string network : {"lenet --batch 8", "lenet --batch 32", "cifarnet --batch 4"}) {
    const std::string record = " own-" + std::to_string(records.size()) + ".json";
    const CommandResult result = run("bench --steps 3 --warmup 1 --no-peak --ops --threads 1 --network " +
                                     network + " --record" + record);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    records += record;
  }
  const std::string device =
      "devices:\n  own: {flops_per_second: 2e12, bytes_per_second: 3e11, memory: 8GiB, multiprocessors: 2, "
      "kind: "
      "cpu}\n";
  std::ofstream(work() / "own.yaml") << device;
  const auto adapted =
      report_of("predict adapt --device own --devices own.yaml -o own.model --json" + records);
  EXPECT_EQ(adapted["runs"], 3);
  EXPECT_LT(adapted["after"]["mape"], adapted["before"]["mape"]);
  const auto asked =
      report_of("predict run --model own.model --network lenet --device own --batch 16 --json");
  EXPECT_TRUE(asked["device_seen"].get<bool>());
  EXPECT_EQ(asked["based_on"]["device_runs"], 3);
  expect_failed(run("predict adapt --device own --model runs.csv -o x.model" + records), 1,
                "is no model file");
}

// From kernels that were timed here, as small as they may be.
TEST_F(PredictCliTest, TransformersArePredictedByTheirKernelsAndPlaced) {
  const std::string device =
      "devices:\n  here: {flops_per_second: 1e11, bytes_per_second: 1e10, memory: 8GiB, multiprocessors: "
      "2}\n";
  std::ofstream(work() / "device.yaml") << device;
  std::ofstream(work() / "here.yaml") << "slots:\n  - {device: here}\n" << device;
  std::ofstream(work() / "transformers.yaml")
      << "jobs:\n  - {network: transformer, batch: 6, images: 600, count: 2}\n";
  std::string records;
  for (int layers = 1; layers <= 3; ++layers)
    for (const int batch : {2, 8}) {
      const std::string record = " record-" + std::to_string(layers) + "-" + std::to_string(batch) + ".json";
      const CommandResult result =
          run("bench --network transformer --length 16 --steps 2 --warmup 1 --no-peak --ops --threads 1 "
              "--layers " +
              std::to_string(layers) + " --batch " + std::to_string(batch) + " --record" + record);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      records += record;
    }
  const auto fitted = report_of(
      "predict fit --kind kernels --device here --devices device.yaml -o kernels.json --json" + records);
  EXPECT_EQ(fitted["runs"], 6);
  const auto asked =
      report_of("predict run --model kernels.json --network transformer --device here --batch 6 --json");
  EXPECT_GT(asked["step_seconds"], 0);
  EXPECT_NEAR(asked["memory"]["weights"].get<double>(), 4.0 * 932608, 1);
  const auto placed = report_of("place transformers.yaml --cluster here.yaml --model kernels.json --json");
  EXPECT_EQ(placed["policies"][0]["decisions"].size(), 2u);
}

TEST_F(PredictCliTest, TheDataSetIsPartOfARun) {
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  const std::string words = "predict run --model model.json --device GTX1080 --batch 32 --json --network ";
  const auto small = report_of(words + "alexnet --data cifar10"),
             large = report_of(words + "alexnet --data imagenet"),
             sized = report_of(words + "alexnet --data imagenet --images 128116");
  EXPECT_LT(small["memory"]["total"], large["memory"]["total"].get<double>() / 4);
  EXPECT_LT(small["seconds"], large["seconds"]);
  EXPECT_EQ(sized["step_seconds"], large["step_seconds"]);
  EXPECT_GT(sized["seconds"], 1.5 * large["seconds"].get<double>());
  EXPECT_FALSE(report_of(words + "lenet --data mnist")["unlike_learned"].get<bool>());
  EXPECT_TRUE(report_of(words + "vgg19")["unlike_learned"].get<bool>());
  expect_failed(run(words + "lenet --data coco"), 1, "dataset 'coco': one of cifar10");
  EXPECT_GT(report_of(words + "lenet --data coco --images 100")["seconds"], 0);
}

TEST_F(PredictCliTest, PredictionsSayWhichRunTheyAreOf) {
  ASSERT_EQ(run("predict eval --runs runs.csv --split batch --predictions made.csv").exit_code, 0);
  std::ifstream file(work() / "made.csv");
  std::string head, line;
  std::getline(file, head);
  EXPECT_EQ(head.find("held_out,device,network,parameters,input,classes,batch,optimizer,precision,dataset,"
                      "images,epochs,measured_seconds"),
            0u);
  std::size_t rows = 0;
  while (std::getline(file, line)) {
    ++rows;
    EXPECT_TRUE(line.find(",sgd,f32,") != std::string::npos || line.find(",adam,f32,") != std::string::npos)
        << line;
  }
  EXPECT_EQ(rows, 24u);
}

TEST_F(PredictCliTest, GeneratedNetworksArePredictedByTheirParameters) {
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  const std::string words =
      "predict run --model model.json --device GTX1080 --batch 8 --json --network transformer";
  const auto usual = report_of(words), small = report_of(words + " --layers 2 --width 64 --kv-heads 2");
  EXPECT_TRUE(usual["parameters"].empty());
  EXPECT_EQ(small["parameters"], (Json{{"kv_heads", "2"}, {"layers", "2"}, {"width", "64"}}));
  EXPECT_NEAR(usual["memory"]["weights"].get<double>(), 4.0 * 932608, 1);
  EXPECT_NEAR(small["memory"]["weights"].get<double>(), 4.0 * 161408, 1);
  EXPECT_GT(usual["step_seconds"], small["step_seconds"]);
  expect_failed(run(words + " --layers 0"), 1,
                "--layers 0: network 'transformer' takes a whole number from 1 to 4096");
  expect_failed(run(words + " --hidden 3"), 1, "--hidden 3: network 'transformer' has no such parameter");
  std::ofstream(work() / "generated.yaml")
      << "jobs:\n"
         "  - {network: rnn, cell: gru, layers: 1, hidden: 8, length: 4, vocabulary: 16, batch: 2, images: "
         "4}\n"
         "  - {network: transformer, layers: 1, width: 8, heads: 2, kv_heads: 1, length: 4, vocabulary: 16,"
         " batch: 2, images: 4}\n";
  const auto placed =
      report_of("place generated.yaml --cluster cluster.yaml --model model.json --submit local --json");
  ASSERT_EQ(placed["submitted"].size(), 2u);
  for (const auto& one : placed["submitted"]) EXPECT_EQ(one["status"], "ok") << one["reason"];
  const auto record = read_json(work() / "placement" / "records" / "002-transformer-2-r1-a1.json");
  EXPECT_EQ(record["asked"]["kv_heads"], 1);
  EXPECT_EQ(record["asked"]["width"], 8);
}

TEST_F(PredictCliTest, TheLibraryPredictsWhatTheCommandPredicts) {
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  const StepPredictor model(work() / "model.json");
  EXPECT_EQ(model.devices(), (std::vector<std::string>{"GTX1080", "RTX2070"}));
  for (const std::string network : {"lenet", "resnet50"})
    for (const std::string device : {"RTX2070", "H200"}) {
      SCOPED_TRACE(network + " on " + device);
      const auto asked =
          report_of("predict run --model model.json --json --batch 16 --epochs 2 --optimizer " +
                    ("momentum --network " + network) + " --device " + device);
      const PredictedRun made =
          model.predict(Network::named(network),
                        {.device = device, .batch = 16, .optimizer = "momentum", .steps = 2 * 50000.0 / 16});
      EXPECT_GT(made.step_seconds, 0);
      EXPECT_EQ(made.step_seconds, asked["step_seconds"].get<double>());
      EXPECT_EQ(made.memory_bytes, asked["memory"]["total"].get<double>());
      EXPECT_EQ(made.out_of_memory_probability, asked["oom_probability"].get<double>());
      EXPECT_EQ(made.device_seen, asked["device_seen"].get<bool>());
      EXPECT_EQ(made.device_seen, device == "RTX2070");
    }
  EXPECT_LT(model.predict(Network::named("lenet"), {.device = "RTX2070", .batch = 16}).step_seconds,
            model.predict(Network::named("resnet50"), {.device = "RTX2070", .batch = 16}).step_seconds);
}

TEST_F(PredictCliTest, GraphNetworksAreFittedJudgedAskedAndAdapted) {
  const std::string words = "predict fit runs.csv --kind gnn --groups 6 --checkpoints kept --json -q -o ";
  const auto fitted = report_of(words + "gnn.model --epochs 2");
  EXPECT_EQ(fitted["epochs"], 2);
  EXPECT_EQ(fitted["runs"], 24);
  EXPECT_EQ(report_of(words + "more.model --epochs 3")["epochs"], 3);  // went on
  const auto judged = report_of("predict eval --runs runs.csv --model gnn.model --json");
  EXPECT_EQ(judged["by_all"]["all"]["mape"], fitted["fitted"]["mape"]);
  const auto asked = report_of("predict run --model gnn.model --network lenet --device H200 --json");
  EXPECT_GT(asked["step_seconds"], 0);
  EXPECT_FALSE(asked["device_seen"].get<bool>());
  EXPECT_TRUE(asked["utilisation"].contains("gpu_util"));
  EXPECT_EQ(report_of("place jobs.yaml --cluster cluster.yaml --model gnn.model --json")["jobs"], 2);
  EXPECT_EQ(
      report_of("predict fit runs.csv --kind gnn --base gnn.model -o new.model --epochs 1 --json")["runs"],
      24);
  expect_failed(run("predict fit runs.csv --base gnn.model -o new.model"), 1,
                "a model of kind 'trainyard-graph-run-model', wants 'trainyard-time-model'");
}

TEST_F(PredictCliTest, PublishedWeightsAreImportedAndAsked) {
  std::ofstream(work() / "weights.pkl", std::ios::binary) << weights::driple_state_dict(8);
  const auto imported = report_of("predict import weights.pkl -o driple.model --json");
  EXPECT_EQ(imported["tensors"], 18);
  EXPECT_GT(imported["parameters"], 1000);
  const std::string words = "predict run --model driple.model --network ";
  const auto asked = report_of(words + "lenet --batch 4 --json");
  for (const char* resource : {"gpu_util", "gpu_memory_util", "net_tx", "net_rx"})
    for (const char* number : {"burst", "idle", "consumption"})
      EXPECT_TRUE(asked["shares_of_largest"][resource][number].is_number()) << resource << " " << number;
  EXPECT_GT(asked["groups"], 10);
  // The graph decides: another network has other numbers, the same has the same, from a file too.
  EXPECT_NE(report_of(words + "trivial --batch 4 --json")["shares_of_largest"], asked["shares_of_largest"]);
  EXPECT_EQ(report_of(words + "lenet --batch 4 --json"), asked);
  EXPECT_GT(report_of(words + "fc --layers 9 --json")["groups"],
            report_of(words + "fc --layers 1 --json")["groups"]);
  const CommandResult idle = run(words + "lenet --device H200");
  EXPECT_EQ(idle.exit_code, 0) << idle.err;
  EXPECT_NE(idle.err.find("--device"), std::string::npos) << idle.err;
  expect_failed(run("predict import runs.csv -o other.model"), 1, "runs.csv");
  EXPECT_FALSE(std::filesystem::exists(work() / "other.model"));
  std::ofstream(work() / "other.pkl", std::ios::binary) << weights::small_state_dict();
  expect_failed(run("predict import other.pkl -o other.model"), 1, "tensor 'weight' is none of Driple's");
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  expect_failed(run("predict run --model model.json --network lenet"), 1, "--device is required");
  expect_failed(run("place jobs.yaml --cluster cluster.yaml --model driple.model"), 1,
                "a model of kind 'trainyard-graph-model'");
}

TEST_F(PredictCliTest, PlacedJobsAreStarted) {
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  std::ofstream(work() / "tiny.yaml") << "jobs:\n  - {network: lenet, batch: 2, images: 4, count: 2}\n";
  const std::string words = "place tiny.yaml --cluster cluster.yaml --model model.json --submit local --json";
  const auto report = report_of(words);
  ASSERT_EQ(report["submitted"].size(), 2u);
  EXPECT_EQ(report["submitted"][0]["status"], "ok");
  EXPECT_TRUE(std::filesystem::exists(work() / "placement" / "records" / "001-lenet-1-1-r1-a1.json"));
  // The same goes on, and all is done; another is refused.
  const auto again = report_of(words);
  EXPECT_EQ(again["submitted"], report["submitted"]);
  expect_failed(run("place jobs.yaml --cluster cluster.yaml --model model.json --submit local --json"), 1,
                "--out 'placement': holds another placement");
  // A model can be fitted to the records of submitted jobs.
  EXPECT_EQ(report_of("predict fit placement/records --device H200 -o h.json --no-intervals --json")["runs"],
            2);
}

TEST_F(PredictCliTest, MistakesAreOneLine) {
  expect_failed(run("predict eval --runs runs.csv --split network --model model.json"), 1,
                "wants one of --model, --split and --to");
  expect_failed(run("predict eval --runs nothing.csv --split random"), 1, "nothing.csv");
  expect_failed(run("predict eval --runs runs.csv --to TitanX --from GTX1080"), 1, "0 that ended well");
  std::ofstream(work() / "other.csv")
      << "GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Execution Time\n"
         "GTX1080,nasnet,8,sgd,10,cifar10,100\nVoodoo,lenet,8,sgd,10,cifar10,100\n"
         "GTX1080,lenet,8,sgd,10,cifar10,110\n";
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  expect_failed(run("predict eval --runs other.csv --model model.json"), 1, "unknown network 'nasnet'");
  const auto judged = report_of("predict eval --runs other.csv --model model.json --skip-unknown --json");
  EXPECT_EQ(judged["runs"], 1);
  EXPECT_EQ(judged["skipped"]["nasnet"], 1);
  EXPECT_EQ(judged["skipped"]["Voodoo"], 1);
  expect_failed(run("place jobs.yaml --cluster cluster.yaml --model model.json --policy lifo"), 1,
                "unknown policy 'lifo'");
}

}  // namespace
}  // namespace trainyard::cli_test
