// --json prints one object and nothing else, with the keys that docs/formats/run-record.md promises.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "record/run_record.h"

namespace trainyard::cli_test {
namespace {

constexpr const char* kShared[] = {"network",
                                   "batch",
                                   "backend",
                                   "precision",
                                   "threads",
                                   "parameters",
                                   "flops_per_step",
                                   "steps",
                                   "warmup_steps",
                                   "step_seconds",
                                   "images_per_second",
                                   "flops_per_second",
                                   "peak_fraction",
                                   "peak_memory_bytes",
                                   "feed"};
constexpr const char* kTraining[] = {"first_loss", "final_loss",  "test_accuracy", "seconds",
                                     "data",       "seed",        "final_step",    "input_wait_seconds",
                                     "checkpoint", "resumed_from"};

class JsonTest : public CliTest {
 protected:
  Json object_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json json = parse_json(result.out);  // throws when anything else is there
    EXPECT_TRUE(json.is_object());
    for (const char* key : kShared) EXPECT_TRUE(json.contains(key)) << key;
    for (const char* key : {"mean", "median", "min", "p95"})
      EXPECT_GT(json["step_seconds"][key].get<double>(), 0) << key;
    expect_listed(result.out);
    return json;
  }

  // A record of ours holds no figure that the list does not have.
  static void expect_listed(const std::string& text) {
    using record::FigureKind;
    const record::RunRecord run = record::run_record_from_json(text);
    const auto expect = [](const auto& results, FigureKind kind) {
      for (const auto& [name, value] : results) EXPECT_NE(record::find_figure(name, kind), nullptr) << name;
    };
    expect(run.figures, FigureKind::number);
    expect(run.words, FigureKind::word);
    expect(run.details, FigureKind::detail);
  }
};

TEST_F(JsonTest, Bench) {
  const Json json = object_from("bench --network lenet --batch 4 --steps 3 --warmup 2 --json");
  EXPECT_EQ(json["steps"], 3);
  EXPECT_EQ(json["warmup_steps"], 2);
  EXPECT_EQ(json["batch"], 4);
  EXPECT_EQ(json["feed"], "none");
}

TEST_F(JsonTest, BenchOfAGeneratedNetworkInBothModes) {
  const std::string fc =
      "bench --network fc --layers 3 --width 40 --inputs 30 --classes 7 --batch 4 --steps 3 --no-peak";
  const Json training = object_from(fc + " --json"), inference = object_from(fc + " --mode infer --json");
  for (const Json* run : {&training, &inference}) {
    const Json& asked = (*run)["asked"];
    EXPECT_EQ(asked["layers"], 3);
    EXPECT_EQ(asked["width"], 40);
    EXPECT_EQ(asked["inputs"], 30);
    EXPECT_EQ(asked["classes"], 7);
  }
  const int weights = 2 * 40 * 40 + 40 * (30 + 7), parameters = weights + 3 * 40 + 7;
  EXPECT_EQ(training["parameters"], parameters);
  EXPECT_EQ(inference["parameters"], parameters);
  EXPECT_EQ(training["mode"], "train");
  EXPECT_EQ(inference["mode"], "infer");
  EXPECT_EQ(inference["asked"]["mode"], "infer");
  EXPECT_EQ(training["flops_per_step"], 6 * 4 * weights - 2 * 4 * 40 * 30);
  EXPECT_EQ(inference["flops_per_step"], 2 * 4 * weights);
}

TEST_F(JsonTest, AStepOfSeveralBatchesCountsAllOfThem) {
  const Json json = object_from(
      "bench --network rnn --hidden 16 --length 10 --batch 4 --steps 3 --warmup 1 --accumulate 2 "
      "--optimizer adamw --weight-decay 0.1 --decay-matrices-only --clip-norm 1 --no-peak --json");
  EXPECT_EQ(json["asked"]["accumulate"], 2);
  EXPECT_EQ(json["asked"]["clip_norm"], 1);
  EXPECT_EQ(json["asked"]["decay_matrices_only"], true);
  EXPECT_EQ(json["batch"], 4);
  EXPECT_EQ(json["global_batch"], 8);
  EXPECT_EQ(json["images_per_step"], 8);
  EXPECT_EQ(json["images_consumed"], 3 * 8);
  const double speed = json["images_per_second"].get<double>();
  EXPECT_NEAR(speed, 8 / json["step_seconds"]["mean"].get<double>(), 1e-9 * speed);
  EXPECT_NEAR(json["tokens_per_second"].get<double>(), 10 * speed, 1e-6 * speed);
  EXPECT_FALSE(object_from("bench --network lenet --batch 2 --steps 2 --no-peak --json")
                   .contains("tokens_per_second"));
}

TEST_F(JsonTest, AskedHoldsWhatWasGiven) {
  const std::string words =
      "--network lenet --batch 4 --steps 2 --optimizer momentum --momentum 0.8 --schedule cosine "
      "--decay-steps 5 "
      "--final-lr 0.01 --lr 0.05 --weight-decay 0.1 --ema 0.5 --label-smoothing 0.1 --no-fusion --json ";
  const Json bench = object_from("bench --no-peak " + words)["asked"],
             train = object_from("train --preprocess standardise --no-eval " + words)["asked"];
  for (const Json* asked : {&bench, &train}) {
    EXPECT_EQ((*asked)["lr"], 0.05);
    EXPECT_EQ((*asked)["momentum"], 0.8);
    EXPECT_EQ((*asked)["schedule"], "cosine");
    EXPECT_EQ((*asked)["decay_steps"], 5);
    EXPECT_EQ((*asked)["weight_decay"], 0.1);
    EXPECT_EQ((*asked)["ema"], 0.5);
    EXPECT_EQ((*asked)["label_smoothing"], 0.1);
    EXPECT_EQ((*asked)["no_fusion"], true);
    EXPECT_FALSE(asked->contains("decay_factor"));
  }
  EXPECT_EQ(bench["no_peak"], true);
  EXPECT_EQ(train["preprocess"], "standardise");
  EXPECT_EQ(train["no_eval"], true);
  EXPECT_EQ(train["steps"], 2);
}

TEST_F(JsonTest, BenchFedByTheHost) {
  const Json json = object_from(
      "bench --network cnn --filters 2 --image 33 --pool adaptive --classes 5 --batch 4 --steps 8 --feed "
      "host "
      "--no-peak --json");
  EXPECT_EQ(json["feed"], "host");
  EXPECT_EQ(json["asked"]["feed"], "host");
  EXPECT_GE(json["input_wait_seconds"].get<double>(), 0);
  EXPECT_GE(json["input_wait_fraction"].get<double>(), 0);
  EXPECT_LE(json["input_wait_fraction"].get<double>(), 1);
}

TEST_F(JsonTest, EveryFigureIsInTheList) {
  const std::string train = "train --network fc --layers 1 --width 8 --batch 8 --steps 3 --json --quiet ";
  for (const std::string& arguments :
       {train + "--workers 2 --mode ssp:1 --threads 2",
        train + "--devices 2 --strategy independent --scaling weak",
        train + "--workers 2 --collective local --no-eval",
        std::string("profile --json --quiet -- sleep 0.2"),
        std::string("bench --network fc --layers 1 --width 8 --steps 3 --ops --json --quiet")}) {
    SCOPED_TRACE(arguments);
    const CommandResult result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_listed(result.out);
  }
}

TEST_F(JsonTest, ALimitOfThePlanIsKeptAndTold) {
  const std::string network = "resnet20 --batch 4 --threads 1", bench = "bench --steps 2 --no-peak --json ";
  const auto whole = object_from(bench + "--network " + network)["plan_bytes"].get<std::int64_t>();
  const std::string limit = std::to_string(whole * 7 / 10);
  const Json run = object_from(bench + "--ops --network " + network + " --memory-limit " + limit);
  EXPECT_EQ(run["asked"]["memory_limit"], limit);
  EXPECT_EQ(run["plan_limit_bytes"], whole * 7 / 10);
  EXPECT_EQ(run["unlimited_plan_bytes"], whole);
  EXPECT_LE(run["plan_bytes"], run["plan_limit_bytes"]);
  EXPECT_GT(run["recomputed_bytes_per_step"], 0);
  const CommandResult explained = this->run("explain " + network + " --json --memory-limit " + limit);
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const Json plan = parse_json(explained.out);
  for (const char* key : {"plan_bytes", "plan_limit_bytes", "unlimited_plan_bytes", "flops_per_step",
                          "recomputed_flops_per_step", "recomputed_bytes_per_step"})
    EXPECT_EQ(plan[key], run[key]) << key;
  std::int64_t once = 0, again = 0, by_op = 0;
  for (const Json& step : plan["steps"])
    (step["recomputed"] == true ? again : once) += step["flops"].get<std::int64_t>();
  EXPECT_EQ(once, run["flops_per_step"]) << "the rate counts the work of the network";
  EXPECT_EQ(again, run["recomputed_flops_per_step"]);
  for (const Json& op : run["ops"]["by_op"]) by_op += op["flops"].get<std::int64_t>();
  EXPECT_EQ(by_op, once + again) << "kernels are timed with all that they did";
}

TEST_F(JsonTest, RefusedForWantOfMemory) {
  const CommandResult result =
      run("bench --network fc --width 10000000 --steps 1 --no-peak --record refused.json");
  EXPECT_EQ(result.exit_code, 1);
  const Json json = read_json(work() / "refused.json");
  EXPECT_EQ(json["status"], "refused");
  EXPECT_EQ(json["asked"]["width"], 10'000'000);
  EXPECT_NE(json["reason"].get<std::string>().find(" of memory, this machine has "), std::string::npos)
      << json["reason"];
}

TEST_F(JsonTest, CountsByFormulaGraphAndKernels) {
  const CommandResult result = run(
      "explain fc --layers 3 --width 40 --inputs 30 --classes 7 --batch 4 --optimizer adam --counts --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = parse_json(result.out);
  EXPECT_EQ(json["formula"], json["graph"]);
  const int weights = 2 * 40 * 40 + 40 * (30 + 7);
  EXPECT_EQ(json["published"]["parameters"], weights);
  EXPECT_EQ(json["published"]["flops"], 6 * 4 * weights);
  EXPECT_EQ(json["kernels"]["backward_flops"], json["graph"]["backward_flops"]);
  EXPECT_LE(json["kernels"]["compulsory_bytes"], json["graph"]["compulsory_bytes"]);
}

TEST_F(JsonTest, TrainAndItsRecord) {
  const Json json = object_from(
      "train --network lenet --batch 16 --steps 6 --eval-every 3 --seed 5 --optimizer adam --json --out run");
  for (const char* key : kTraining) EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["warmup_steps"], 1);
  EXPECT_EQ(json["final_step"], 6);
  EXPECT_EQ(json["seed"], 5);
  EXPECT_EQ(json["data"], "synthetic");
  EXPECT_EQ(json["feed"], "host");
  EXPECT_GE(json["input_wait_fraction"].get<double>(), 0);
  EXPECT_NEAR(json["first_loss"].get<double>(), 2.303, 0.3);
  EXPECT_GE(json["test_accuracy"].get<double>(), 0.05);
  EXPECT_EQ(json["checkpoint"], "run/step-00000006");
  EXPECT_TRUE(json["resumed_from"].is_null());
  EXPECT_EQ(read_json(work() / "run" / "record.json"), json);
  const Json again = parse_json(run("train --network lenet --batch 16 --steps 6 --seed 5 --optimizer adam "
                                    "--json --out run --resume")
                                    .out);
  EXPECT_EQ(again["steps"], 0);
  EXPECT_EQ(again["resumed_from"], "run/step-00000006");
  EXPECT_EQ(again["first_loss"], json["first_loss"]);
  EXPECT_EQ(again["test_accuracy"], json["test_accuracy"]);
  EXPECT_TRUE(again["step_seconds"]["median"].is_null());
}

TEST_F(JsonTest, ProbeTellsWhatItKnowsOfTheMachine) {
  CommandOptions secretive = options();
  secretive.environment["OMP_NUM_THREADS"] = "1";
  secretive.environment["SECRET_TOKEN"] = "correct-horse";
  const CommandResult result = cli_test::run(trainyard("probe --machine --json"), secretive);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json facts = parse_json(result.out)["provenance"];
  EXPECT_GE(facts["cpu"]["logical_cores"].get<int>(), 1);
  EXPECT_GT(facts["memory"]["total_bytes"].get<double>(), 1e6);
  EXPECT_EQ(facts["environment"]["OMP_NUM_THREADS"], "1");
  EXPECT_FALSE(facts["build"]["compiler"].get<std::string>().empty());
  EXPECT_EQ(result.out.find("correct-horse"), std::string::npos);
  EXPECT_NE(run("probe --machine").out.find("logical_cores"), std::string::npos);
}

TEST_F(JsonTest, WithoutItATable) {
  const CommandResult result = run("train --network lenet --batch 8 --steps 2 --no-eval");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("images per second"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("loss"), std::string::npos) << result.out;
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace trainyard::cli_test
