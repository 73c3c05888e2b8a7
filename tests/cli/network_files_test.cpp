// Networks that are files, in every command that names one, from a folder that is not theirs.

#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"
#include "interchange/test_models.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;
namespace onnx = interchange::onnx;

class NetworkFilesTest : public CliTest {
 protected:
  NetworkFilesTest() {
    fs::create_directories(work() / "lab" / "nets");
    fs::create_directories(work() / "elsewhere");
    export_lenet(1);
  }

  void export_lenet(int seed) const {
    const CommandResult result =
        run("networks export lenet --to lab/nets/mine.onnx --weights initial --seed " + std::to_string(seed));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }
  Json json_of(const std::string& arguments) const {
    const CommandResult result = run(arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return parse_json_or_discard(result.out);
  }
  CommandResult run_elsewhere(const std::string& arguments) const {
    CommandOptions there = options();
    there.folder = work() / "elsewhere";
    return cli_test::run(trainyard(arguments), there);
  }
  std::string text_of(const fs::path& file) const {
    const std::vector<std::byte> bytes = read_file(file);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Json first_record(const fs::path& folder, const std::string& network) const {
    for (const auto& entry : fs::directory_iterator(folder / "records"))
      if (const auto record = parse_json(text_of(entry.path())); record["asked"]["network"] == network)
        return record;
    return {};
  }
};

constexpr const char* kStudy =
    "study: both\nsettings: {batch: 2, steps: 2, warmup: 0, threads: 1, no_peak: true}\n"
    "axes: {network: [lenet, nets/mine.onnx]}\n";

TEST_F(NetworkFilesTest, AStudyHasThemAsAnAxisFromAnyFolder) {
  write("lab/both.yaml", kStudy);
  const CommandResult ran = run_elsewhere("study run ../lab/both.yaml --quiet");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const fs::path folder = work() / "elsewhere" / "results" / "both";
  const Json record = first_record(folder, "nets/mine.onnx");
  EXPECT_EQ(record["provenance"]["network"]["file"], (work() / "lab/nets/mine.onnx").string());
  EXPECT_EQ(record["provenance"]["network"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_FALSE(first_record(folder, "lenet")["provenance"].contains("network"));
  const CommandResult status = run_elsewhere("study status results/both");
  EXPECT_NE(status.out.find("nets/mine.onnx"), std::string::npos) << status.out;
  EXPECT_EQ(status.out.find(work().string()), std::string::npos) << status.out;
  EXPECT_EQ(run_elsewhere("report results/both").exit_code, 0);
  const CommandResult compared = run_elsewhere("compare results/both --across network=lenet,nets/mine.onnx");
  EXPECT_NE(compared.out.find("nets/mine.onnx"), std::string::npos) << compared.err;
  // The same file is done; another content is another cell.
  const auto left = [&] {
    const CommandResult plan = run_elsewhere("study run ../lab/both.yaml --quiet --json");
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    return std::distance(fs::directory_iterator(folder / "records"), fs::directory_iterator());
  };
  EXPECT_EQ(left(), 2);
  export_lenet(2);
  EXPECT_EQ(left(), 3);
}

TEST_F(NetworkFilesTest, AStudysStoreIsMadeAgainWithoutTheFiles) {
  write("lab/both.yaml", kStudy);
  ASSERT_EQ(run("study run lab/both.yaml --quiet").exit_code, 0);
  fs::remove_all(work() / "lab");
  fs::remove(work() / "results/both/store.sqlite");
  const Json status = json_of("study status results/both");
  EXPECT_EQ(status["expected"], 2);
  EXPECT_EQ(status["done"], 2);
}

TEST_F(NetworkFilesTest, AStudyNamesAFileThatIsNotThere) {
  write("lab/none.yaml", "study: none\naxes: {network: [lenet, nets/none.onnx]}\nsettings: {steps: 2}\n");
  const CommandResult plan = run("study plan lab/none.yaml");
  EXPECT_EQ(plan.exit_code, 1);
  EXPECT_NE(plan.err.find("none.onnx"), std::string::npos) << plan.err;
  EXPECT_NE(plan.err.find("1 of 2 cells can never run"), std::string::npos) << plan.err;
}

// Records of runs of a file are learned from while it is the same.
TEST_F(NetworkFilesTest, RunsAreLearnedFromWhileTheFileIsTheSame) {
  write("device.yaml",
        "devices:\n  here: {flops_per_second: 1e11, bytes_per_second: 1e10, memory: 8GiB, multiprocessors: "
        "2}\n");
  std::string records;
  for (const char* batch : {"2", "4", "8"}) {
    const std::string record = std::string(" record-") + batch + ".json";
    const CommandResult result =
        run("bench --network lab/nets/mine.onnx --steps 3 --warmup 1 --no-peak --ops "
            "--threads 1 --batch " +
            std::string(batch) + " --record" + record);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    records += record;
  }
  ASSERT_EQ(run("bench --network lenet --steps 3 --warmup 1 --no-peak --ops --threads 1 --batch 6 --record "
                "own.json")
                .exit_code,
            0);
  records += " own.json";
  for (const char* kind : {"analytic", "kernels", "gnn"}) {
    SCOPED_TRACE(kind);
    const std::string fit = std::string("predict fit --kind ") + kind +
                            (std::string(kind) == "gnn" ? " --epochs 2" : " --no-intervals") +
                            " --device here --devices device.yaml -o model.json" + records;
    EXPECT_EQ(json_of(fit)["runs"], 4);
    const Json asked = json_of(
        "predict run --model model.json --network lab/nets/mine.onnx --batch 4 --device here --devices "
        "device.yaml");
    EXPECT_GT(asked["step_seconds"], 0);
    // A file of lenet is lenet.
    const Json lenet = json_of(
        "predict run --model model.json --network lenet --batch 4 --device here --devices device.yaml");
    EXPECT_NEAR(asked["memory"]["weights"].get<double>(), lenet["memory"]["weights"].get<double>(), 1e3);
  }
  const std::string fit =
      "predict fit --no-intervals --device here --devices device.yaml -o again.json" + records;
  export_lenet(2);
  expect_failure(fit, 1, "it has changed since: its SHA-256 was");
  const Json skipped = json_of(fit + " --skip-unknown");
  EXPECT_EQ(skipped["runs"], 1);
  EXPECT_EQ(skipped["skipped"][(work() / "lab/nets/mine.onnx").string()], 3);
  fs::remove(work() / "lab/nets/mine.onnx");
  expect_failure(fit, 1, "it is gone");
}

TEST_F(NetworkFilesTest, JobsAreBesideTheirFile) {
  write("runs.csv", made_up_runs());
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  write("lab/jobs.yaml",
        "jobs:\n  - {network: nets/mine.onnx, epochs: 1, images: 4, batch: 2}\n"
        "  - {network: lenet, epochs: 1, images: 4, batch: 2}\n");
  write("cluster.yaml", "slots:\n  - {device: GTX1080, run: cpu}\n");
  const Json placed =
      json_of("place lab/jobs.yaml --cluster cluster.yaml --model model.json --submit local --out placed");
  ASSERT_EQ(placed["submitted"].size(), 2u);
  for (const Json& one : placed["submitted"]) EXPECT_EQ(one["status"], "ok") << one;
  EXPECT_NE(json_text(placed["policies"][0]["decisions"]).find("\"mine-1\""), std::string::npos)
      << placed["policies"][0]["decisions"];
  write("lab/bad.yaml", "jobs:\n  - {network: nets/none.onnx}\n");
  expect_failure("place lab/bad.yaml --cluster cluster.yaml --model model.json", 1, "none.onnx");
}

TEST_F(NetworkFilesTest, MembersOfAnEnsembleAreBesideTheirFile) {
  ASSERT_EQ(run("data pack synthetic --to photos --classes 10 --pixels 40..60 --shards 2 --quiet --images 48 "
                "--seed 1")
                .exit_code,
            0);
  write("lab/two.yaml",
        "data: photos\npreprocess: {name: lenet_slim, size: 28, channels: 3}\nthreads: 1\n"
        "queues: {block: 8, made: 32, ahead: 32}\n"
        "members:\n  - {network: nets/mine.onnx, batch: 8, threads: 1}\n  - {network: lenet, batch: 8, "
        "threads: 1}\n");
  const CommandResult ran = run("ensemble run lab/two.yaml --steps 2 --no-eval --out both");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("mine.onnx"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find(work().string()), std::string::npos) << ran.out;
  const auto record = parse_json(text_of(work() / "both/member-0/record.json"));
  EXPECT_EQ(record["provenance"]["network"]["file"], (work() / "lab/nets/mine.onnx").string());
}

TEST_F(NetworkFilesTest, AGraphOfTensorflowIsPredictedForAnyBatch) {
  write("runs.csv", made_up_runs());
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  std::string graph = interchange::small_graph_def();
  const std::string fixed = "shape { dim { size: 2 }", open = "shape { dim { size: -1 }";
  graph.replace(graph.find(fixed), fixed.size(), open);
  write("graph.pbtxt", graph);
  const std::string ask =
      "predict run --model model.json --device GTX1080 --epochs 1 --images 1000 --network ";
  const Json small = json_of(ask + "graph.pbtxt --batch 2"), large = json_of(ask + "graph.pbtxt --batch 512");
  EXPECT_GT(large["step_seconds"], small["step_seconds"]);
  EXPECT_GT(large["memory"]["activations"].get<double>(), 100 * small["memory"]["activations"].get<double>());
  EXPECT_EQ(large["remarks"].size(), 0u);
  // Ops that nobody knows are named; many of them, or products, are refused.
  const auto with = [&](const std::string& op, int count) {
    std::string more = graph;
    for (int i = 0; i < count; ++i)
      more += "node { name: \"odd" + std::to_string(i) + "\" op: \"" + op + "\" input: \"relu\" }\n" +
              "node { name: \"odd_apply" + std::to_string(i) +
              "\" op: \"ApplyGradientDescent\" input: \"kernel\" input: \"odd" + std::to_string(i) + "\" }\n";
    return more;
  };
  write("odd.pbtxt", with("OddOp", 1));
  expect_failure(ask + "odd.pbtxt", 1, "(OddOp 1)");
  write("product.pbtxt", with("Einsum", 1));
  expect_failure(ask + "product.pbtxt", 1, "products of matrices");
  write("none.pb", "no graph");
  expect_failure(ask + "none.pb", 1, "'none.pb': is no GraphDef");
}

// Its output is an image, so there is no loss; the forward pass is timed, explained and predicted.
TEST_F(NetworkFilesTest, WhatCannotBeTrainedIsTimedForward) {
  onnx::Model model = interchange::small_onnx_model("Relu");
  model.nodes.resize(2);
  model.outputs = {{"m", "", {true, {interchange::kUnknown, 4, 6, 6}, "f32"}}};
  write("image.onnx", interchange::onnx_file_of(model));
  expect_failure("bench --network image.onnx --batch 4 --steps 2", 1,
                 "'image.onnx': cannot be trained: its output is");
  const Json timed =
      json_of("bench --network image.onnx --mode infer --batch 4 --steps 2 --warmup 1 --no-peak");
  EXPECT_EQ(timed["flops_per_step"], 2 * 4 * 4 * 6 * 6 * 27);
  EXPECT_GT(timed["step_seconds"]["mean"], 0);
  const Json plan = json_of("explain image.onnx --mode infer --batch 4");
  EXPECT_EQ(plan["flops_per_step"], timed["flops_per_step"]);
  const Json costs = json_of("explain image.onnx --batch 4");
  EXPECT_EQ(costs["flops"], timed["flops_per_step"]);
  EXPECT_NE(costs["obstacle"].get<std::string>().find("wants f32 (N, classes)"), std::string::npos) << costs;
  write("runs.csv", made_up_runs());
  ASSERT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
  const Json asked =
      json_of("predict run --model model.json --device GTX1080 --network image.onnx --batch 4");
  ASSERT_EQ(asked["remarks"].size(), 1u);
  EXPECT_NE(asked["remarks"][0].get<std::string>().find("forward pass"), std::string::npos);
}

TEST_F(NetworkFilesTest, AnOpThatIsNotOursIsCostedAndNamed) {
  write("floor.onnx", interchange::onnx_file_of(interchange::small_onnx_model("Floor")));
  expect_failure("bench --network floor.onnx --mode infer --steps 2", 1, "node 'middle' (Floor)");
  const Json costs = json_of("explain floor.onnx --batch 2");
  EXPECT_NE(costs["obstacle"].get<std::string>().find("node 'middle' (Floor)"), std::string::npos) << costs;
  EXPECT_EQ(costs["ops"][0]["op"], "conv2d");
  EXPECT_EQ(costs["flops"], 2 * 2 * 4 * 6 * 6 * 27 + 2 * 2 * 144 * 10);
}

}  // namespace
}  // namespace trainyard::cli_test
