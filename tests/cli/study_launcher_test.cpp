// Studies as a launcher: what a plan refuses, what a run is given and leaves, and how it is called.

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/cores.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "store/store.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class StudyLauncherTest : public CliTest {
 protected:
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((work() / name).parent_path());
    std::ofstream(work() / name, std::ios::binary) << content;
  }
  std::string content_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(work() / name, std::ios::binary).rdbuf();
    return text.str();
  }
  std::vector<record::RunRecord> runs(const std::string& study) const {
    return store::Store(work() / "results" / study / store::Store::file_name(), store::Store::Access::read)
        .runs();
  }

  // `settings` of one cell: the plan refuses it for `reason`, and `study run` does not begin.
  void expect_refused(const std::string& settings, const std::string& reason,
                      const std::string& run_kind = "train") {
    SCOPED_TRACE(settings);
    write("cell.yaml", "study: cell\nrun: " + run_kind + "\nsettings: {" + settings + "}\n");
    const CommandResult plan = run("study plan cell.yaml --json");
    EXPECT_EQ(plan.exit_code, 1);
    const Json planned = parse_json_or_discard(plan.out);
    ASSERT_TRUE(planned.is_object());
    const Json& found = planned["cells"][0]["refused"];
    const auto refused = found.is_string() ? found.get<std::string>() : std::string();
    EXPECT_NE(refused.find(reason), std::string::npos) << refused;
    EXPECT_NE(plan.err.find("1 of 1 cells can never run"), std::string::npos) << plan.err;
    EXPECT_EQ(run("study run cell.yaml --quiet").exit_code, 1);
    EXPECT_FALSE(fs::exists(work() / "results")) << "nothing was started";
  }
};

TEST_F(StudyLauncherTest, PlanRefusesCellsThatCanNeverRun) {
  expect_refused("devices: 4, strategy: allreduce", "--devices 4 wants --scaling");
  expect_refused("devices: 4, strategy: allreduce, batch: 3, scaling: strong",
                 "--batch 3: 4 devices cannot split it equally");
  expect_refused("devices: 2, scaling: weak", "strategy single uses one and leaves the rest idle");
  expect_refused("threads: 6400", "threads 6400: this process may use ");
  expect_refused("threads: 6400", "threads 6400: this process may use ", "bench");
  expect_refused("devices: 2000, strategy: independent, scaling: weak", "each wants a core of its own");
  if (process_cores().size() >= 3)
    expect_refused("devices: 2, strategy: towers-host, scaling: weak, threads: 3",
                   "cannot be shared equally");
  expect_refused("nodes: 2, devices: 2, strategy: towers-host, scaling: weak",
                 "strategy towers-host runs in one process");
  expect_refused("nodes: 2", "strategy single runs in one process");
  expect_refused("nodes: 2", "bench runs in one process", "bench");
  expect_refused("nodes: 3, devices: 2, strategy: bsp, scaling: weak",
                 "devices 2 on 3 nodes: the others would idle");
  expect_refused("gpu_type: k80", "device is cpu: they would idle");
  expect_refused("threads: 6400, cpus_per_task: 2", "threads 6400: the job asks for 2 CPUs");
  expect_refused("hosts: slurm, devices: 2, strategy: towers-device, scaling: weak", "runs in one process");
  expect_refused("ensemble: nowhere.yaml", "nowhere.yaml", "ensemble");
  expect_refused("precision: bf16", "precision bf16: on the CPU there is f32 only", "bench");
  expect_refused("devices: 2, strategy: hogwild, scaling: weak, optimizer: adam", "wants --optimizer sgd");
  expect_refused("devices: 2, strategy: bsp, scaling: weak, clip_norm: 1",
                 "--clip-norm 1: a parameter server");
  expect_refused("devices: 2, strategy: bsp, scaling: weak, accumulate: 4",
                 "--accumulate 4: parameter servers");
  expect_refused("steps: 3, epochs: 1", "steps and epochs");
  expect_refused("network: rnn, data: mnist", "reads sequences");
  expect_refused("devices: 100000, strategy: bsp, scaling: weak", "this machine may have");
  expect_refused("data: mnist, from: nowhere", "from 'nowhere': there is no such folder");
  expect_refused("data: 'folder:nowhere'", "data 'folder:nowhere': there is no such folder or file");
  expect_refused("data: synthetic, staging: local", "has no files");
}

TEST_F(StudyLauncherTest, PlanLooksForTheProgram) {
  write("missing.yaml", "study: missing\nrun: program\nprogram: [there-is-no-such-program]\n");
  const CommandResult plan = run("study plan missing.yaml");
  EXPECT_EQ(plan.exit_code, 1);
  EXPECT_NE(plan.err.find("program 'there-is-no-such-program': No such file or directory"), std::string::npos)
      << plan.err;
}

TEST_F(StudyLauncherTest, PlanListsRefusedCellsAmongTheOthers) {
  write(
      "typo.yaml",
      "study: typo\nrun: program\nparts:\n  - {settings: {batch: 1}}\n  - {settings: {batch: 2, extra: 3}}\n"
      "program: [echo, '{batch}', '{extra}']\n");
  const CommandResult plan = run("study plan typo.yaml");
  EXPECT_EQ(plan.exit_code, 1);
  EXPECT_NE(plan.out.find("can never run"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("no setting or axis 'extra' for {extra}"), std::string::npos) << plan.out;
  EXPECT_NE(plan.err.find("1 of 2 cells can never run"), std::string::npos) << plan.err;
  EXPECT_EQ(run("study run typo.yaml --skip-impossible --quiet").exit_code, 2);
  const std::vector<record::RunRecord> left = runs("typo");
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].status, record::Status::refused);
  EXPECT_EQ(left[1].status, record::Status::ok);
}

TEST_F(StudyLauncherTest, PlanJudgesForTheLauncherThatTheStudyIsFor) {
  write("far.yaml", "study: far\nsettings: {threads: 6400, partition: big}\n");
  EXPECT_EQ(run("study plan far.yaml").exit_code, 0) << "a cluster may have them";
  EXPECT_EQ(parse_json(run("study plan far.yaml --json").out)["launcher"], "slurm");
  EXPECT_EQ(run("study plan far.yaml --launcher local").exit_code, 1);
  write("near.yaml", "study: near\nrun: program\nprogram: ['true']\n");
  EXPECT_EQ(parse_json(run("study plan near.yaml --json").out)["launcher"], "local");
  expect_failure("study plan far.yaml --launcher pbs", 1, "--launcher 'pbs': local or slurm");
}

TEST_F(StudyLauncherTest, RunsAreCalledByWhatTheyDifferIn) {
  write("named.yaml",
        "study: named\nrun: program\nprogram: [sh, -c, 'exit {code}']\nsettings: {colour: red}\n"
        "axes: {code: [0, 3], size: [7]}\nreplicates: 2\norder: nested\n");
  const CommandResult result = run("study run named.yaml");
  EXPECT_NE(result.err.find("ok          code=0, run 1 ("), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("failed      code=3, run 2 ("), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("code=3, run 2 ("), std::string::npos) << result.out;
  EXPECT_EQ(result.err.find("colour"), std::string::npos) << result.err;
  const Json status = parse_json(run("study status results/named --json").out);
  EXPECT_EQ(status["runs"][3]["label"], "code=3, run 2");
  EXPECT_EQ(status["cells"][1]["label"], "code=3");
}

TEST_F(StudyLauncherTest, IntervalsOfCellsAreInStatusAndExport) {
  write("speeds.yaml",
        "study: speeds\nsettings: {network: fc, layers: 1, width: 8, inputs: 8, steps: 3, warmup: 0, "
        "no_peak: true, "
        "threads: 1}\naxes: {batch: [2, 4]}\nreplicates: 3\n");
  ASSERT_EQ(run("study run speeds.yaml --quiet").exit_code, 0);
  const Json status = parse_json(run("study status results/speeds --json").out);
  ASSERT_EQ(status["cells"].size(), 2u);
  for (const Json& cell : status["cells"]) {
    const Json& speed = cell["images_per_second"];
    EXPECT_EQ(speed["runs"], 3);
    EXPECT_LE(speed["low"], speed["median"]) << speed;
    EXPECT_GE(speed["high"], speed["median"]) << speed;
    EXPECT_GE(speed["run_spread"], 0);
    EXPECT_EQ(cell["done"], 3);
  }
  std::istringstream csv(run("study export results/speeds --cells").out);
  std::string line;
  std::getline(csv, line);
  EXPECT_TRUE(
      line.starts_with("cell,label,expected,done,warnings,runs,images_per_second,images_per_second_low,"
                       "images_per_second_high,run_spread,asked_batch"))
      << line;
  std::getline(csv, line);
  EXPECT_NE(line.find(",batch="), std::string::npos) << line;
  const std::string lines = run("study export results/speeds --cells --format jsonl").out;
  const Json cell = parse_json(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(cell["images_per_second"], status["cells"][0]["images_per_second"]);
}

TEST_F(StudyLauncherTest, SetUpAndCleanUpOfEveryRun) {
  write("side.yaml",
        "study: side\nrun: program\nprogram: [cat, '{folder}/place-{x}/file']\naxes: {x: [1, 2, "
        "bad]}\norder: nested\n"
        "setup: 'mkdir {folder}/place-{x} && test {x} != bad && echo {x} > {folder}/place-{x}/file'\n"
        "cleanup: [rm, -r, '{folder}/place-{x}']\n");
  const CommandResult result = run("study run side.yaml --quiet");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  const std::vector<record::RunRecord> left = runs("side");
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].status, record::Status::ok) << left[0].reason;
  EXPECT_EQ(left[1].status, record::Status::ok) << left[1].reason;
  EXPECT_EQ(left[2].status, record::Status::refused);
  EXPECT_NE(left[2].reason.find("exit code 1"), std::string::npos) << left[2].reason;
  EXPECT_EQ(content_of("results/side/logs/" + left[1].id + ".log"), "2\n");
  for (const char* x : {"1", "2", "bad"})
    EXPECT_FALSE(fs::exists(work() / "results/side" / (std::string("place-") + x)));
}

TEST_F(StudyLauncherTest, ALocalRunUnderWayIsNotMissing) {
  write("slow.yaml", "study: slow\nrun: program\nprogram: [sleep, '30']\naxes: {x: [1, 2]}\n");
  Command command(trainyard("study run slow.yaml --quiet"), options());
  Json status;
  for (int i = 0; i < 200; ++i, ::usleep(50'000)) {
    if (!fs::exists(work() / "results/slow" / store::Store::file_name())) continue;
    status = parse_json_or_discard(run("study status results/slow --json").out);
    if (status.is_object() && status["running"] == 1) break;
  }
  EXPECT_EQ(status["running"], 1) << status;
  EXPECT_EQ(status["missing"], 1) << status;
  EXPECT_NE(run("study status results/slow").out.find("0 done, 1 running, 1 missing"), std::string::npos);
  command.signal(SIGINT);
  command.wait();
  EXPECT_EQ(parse_json(run("study status results/slow --json").out)["running"], 0);
}

TEST_F(StudyLauncherTest, OutTraceAndEvaluationsAreSettings) {
  write("kept.yaml",
        "study: kept\nrun: train\nsettings: {network: lenet, batch: 4, steps: 4, threads: 1, eval_every: 2, "
        "out: kept, "
        "trace: traces}\naxes: {seed: [1, 2]}\n");
  ASSERT_EQ(run("study run kept.yaml --quiet").exit_code, 0);
  const std::vector<record::RunRecord> left = runs("kept");
  ASSERT_EQ(left.size(), 2u);
  for (const record::RunRecord& record : left) {
    EXPECT_TRUE(fs::exists(work() / "results/kept/kept" / record.id / "step-00000004")) << record.id;
    EXPECT_TRUE(is_json(content_of("results/kept/traces/" + record.id + ".json")));
  }
}

// A run that was given two GPUs and used one of them.
TEST_F(StudyLauncherTest, GpusThatIdleBesideARunAreNamed) {
  write("gpus.yaml", "study: gpus\nrun: program\nprogram: [sleep, '3']\nsettings: {gpus: 2}\n");
  CommandOptions with_gpus = options();
  with_gpus.environment["LD_LIBRARY_PATH"] = TRAINYARD_FAKE_NVML;
  with_gpus.environment["FAKE_NVML_GPUS"] = "2";
  with_gpus.environment["FAKE_NVML_DUTY"] = "1";
  const CommandResult result = cli_test::run(trainyard("study run gpus.yaml --quiet"), with_gpus);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<record::RunRecord> left = runs("gpus");
  ASSERT_EQ(left.size(), 1u);
  ASSERT_EQ(left[0].warnings.size(), 1u);
  EXPECT_EQ(left[0].warnings[0].kind, "gpus");
  EXPECT_EQ(left[0].warnings[0].text, "2 GPUs asked for, 1 did work; idle all the time: GPU 1 (Fake GPU)");
  EXPECT_NE(result.out.find("GPU 1 (Fake GPU)"), std::string::npos) << result.out;
}

TEST_F(StudyLauncherTest, ClocksOfGpusArePinnedDuringARun) {
  const std::string clocks = (work() / "clocks").string();
  write("pinned.yaml",
        "study: pinned\nrun: program\nprogram: [cat, '" + clocks + "']\nsettings: {gpus: 2}\n");
  CommandOptions with_gpus = options();
  with_gpus.environment["LD_LIBRARY_PATH"] = TRAINYARD_FAKE_NVML;
  with_gpus.environment["FAKE_NVML_GPUS"] = "2";
  with_gpus.environment["FAKE_NVML_CLOCKS"] = clocks;
  CommandResult result = cli_test::run(trainyard("study run pinned.yaml --quiet --pin-clocks"), with_gpus);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<record::RunRecord> left = runs("pinned");
  ASSERT_EQ(left.size(), 1u);
  const std::string pinned = "gpu 0: 1410 MHz; gpu 1: 1410 MHz", lines = "0 1410-1410\n1 1410-1410\n";
  EXPECT_TRUE(left[0].words["clocks"].ends_with(pinned)) << left[0].words["clocks"];
  EXPECT_EQ(content_of("results/pinned/logs/" + left[0].id + ".log"), lines);
  EXPECT_EQ(content_of("clocks"), lines + "0 released\n1 released\n");

  with_gpus.environment.erase("FAKE_NVML_CLOCKS");  // now nobody may
  result =
      cli_test::run(trainyard("study run pinned.yaml --quiet --pin-clocks --out results/denied"), with_gpus);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  left = runs("denied");
  ASSERT_EQ(left.size(), 1u);
  ASSERT_FALSE(left[0].warnings.empty());
  EXPECT_EQ(left[0].warnings[0].kind, "clocks");
  EXPECT_TRUE(left[0].warnings[0].text.ends_with("gpu 0: permission denied; gpu 1: permission denied"))
      << left[0].warnings[0].text;
}

TEST_F(StudyLauncherTest, AnOwnRunThatLeavesAllottedGpusIdleSaysSo) {
  CommandOptions in_job = options();
  in_job.environment["SLURM_JOB_GPUS"] = "0,1";
  const CommandResult result = cli_test::run(trainyard("bench --network fc --layers 1 --width 8 --inputs 8 "
                                                       "--batch 2 --steps 2 --warmup 0 --no-peak --json"),
                                             in_job);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json record = parse_json(result.out);
  bool told = false;
  for (const Json& warning : record["warnings"])
    told = told || warning["text"] == "2 GPUs were given (0,1), none is used";
  EXPECT_TRUE(told) << record["warnings"];
  EXPECT_EQ(record["nodes_used"], 1);
  EXPECT_EQ(record["devices_used"], 1);
  EXPECT_EQ(record["hosts"][0]["workers"], 1);
}

TEST_F(StudyLauncherTest, ImportSaysWhatItLeftOut) {
  const std::string job =
      "+ scontrol show jobid=11\n   Gres=gpu:k80:1 Reservation=(null)\nMean Speed : 5000.0\n";
  write("psc/2018-06-04-k80:1:local", job);
  write("psc/copy/2018-06-04-k80:1:local", job);
  write("psc/trainer.py", "print(1)\n");
  write("psc/0_0.env", "SLURM_NNODES=2\nSLURM_JOB_ID=12\nSLURM_JOB_NUM_NODES=2\n");
  write("psc/slurm-12.out",
        "SLURM_NNODES=2\nSLURM_JOB_ID=12\nSLURM_JOB_NUM_NODES=2\n\n**Environment Variables**\nNameError: "
        "name 'x'\n");
  const CommandResult result = run("study import results/psc --from psc");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("2 of 2 published runs were new"), std::string::npos) << result.out;
  EXPECT_NE(
      result.out.find("left out, no job output of PSC, JSON of ParaDnn or CSV of its re-make: 2 files\n  "
                      "psc/0_0.env\n  psc/trainer.py\n"),
      std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("left out, the same run as 'psc/2018-06-04-k80:1:local': 1 file\n"),
            std::string::npos)
      << result.out;
}

}  // namespace
}  // namespace trainyard::cli_test
