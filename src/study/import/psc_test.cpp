#include "study/import/psc.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "study/run/export.h"

namespace trainyard::study {

namespace {

TEST(PscName, EveryFormComesBack) {
  for (const char* text :
       {"2018-05-31-k80:1", "2018-06-04-k80:4:local", "2018-06-04-p100:2:scratch",
        "2018-06-14-GPU-k80:1:local", "2018-06-22-GPU-p100:2:scratch:PS", "2018-06-22-GPU-k80:4:local:IN",
        "2018-07-01-GPU-k80:2:1024:local:PS", "2018-07-01-GPU-p100:1:16384:scratch:IN",
        "2018-06-11-CPU-GPU:E5-2683-V4:32", "2018-06-13-CPU-RM:E5-2695-V2:14:local",
        "2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch", "2018-07-24-CPU-GPU_E5-2683-V4_1_128_local",
        "2018-08-01-CPU-XLM:E7-8880-V4:288:local"}) {
    const auto name = parse_psc_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(to_text(*name), text);
  }
}

TEST(PscName, HasItsParts) {
  const auto gpu = parse_psc_name("2018-07-01-GPU-k80:2:1024:local:PS");
  EXPECT_EQ(gpu->date, "2018-07-01");
  EXPECT_FALSE(gpu->cpu);
  EXPECT_EQ(gpu->gpu_type, "k80");
  EXPECT_EQ(gpu->count, 2);
  EXPECT_EQ(gpu->batch, 1024);
  EXPECT_EQ(gpu->staging, "local");
  EXPECT_EQ(gpu->variant, "PS");
  const auto cpu = parse_psc_name("2018-07-24-CPU-GPU_E5-2683-V4_1_128_scratch");
  EXPECT_TRUE(cpu->cpu);
  EXPECT_EQ(cpu->partition, "GPU");
  EXPECT_EQ(cpu->model, "E5-2683-V4");
  EXPECT_EQ(cpu->count, 1);
  EXPECT_EQ(cpu->batch, 128);
  EXPECT_EQ(parse_psc_name("2018-06-11-CPU-RM:E5-2695-V2:7")->batch, std::nullopt);
}

TEST(PscName, OtherFilesAreNotMeant) {
  for (const char* text :
       {"2018-06-05:TF_PERFORMANCE_RESULTS.csv", "2018-06-05:K80-LOCAL.png", "slurm-3543480.out", "",
        "2018-06-04", "2018-06-04-k80", "2018-06-04-k80:0", "2018-06-04-k80:two", "2018-06-04-k80:2:disk",
        "2018-06-04-k80:02", "2018-06-04-k80:2:local:PS:more", "2018-06-11-CPU-RM:8"})
    EXPECT_FALSE(parse_psc_name(text)) << text;
}

namespace fs = std::filesystem;
using record::RunRecord;
using record::Status;

// The form of PSC's job outputs, with the figures of the jobs named in each test
// (github.com/asakhare/Tensoflow-Benchmarking-with-CNN_DL_MNIST).
struct PscJob {
  std::string id = "3072349", node = "gpu006", gres = "gpu:k80:1", partition = "GPU-shared",
              script = "gpuJob.slurm";
  int cpus = 7, tasks = 7;
  std::string before_run, python = "CNN_MNIST.py", output, after;

  std::string text() const {
    return fmt::format(
        "+ date\nMon Jun  4 12:38:44 EDT 2018\n+ set +x\nCurrently Loaded Modulefiles:\n"
        "  9) gcc/5.3.0            10) tensorflow/1.5_gpu\n{}+ scontrol show jobid={}\n"
        "   JobState=RUNNING Reason=None Dependency=(null)\n"
        "   StartTime=2018-06-04T12:38:40 EndTime=2018-06-04T12:53:43 Deadline=N/A\n"
        "   Partition={} AllocNode:Sid=br018:16163\n   ReqNodeList=(null) ExcNodeList=(null)\n   "
        "NodeList={}\n"
        "   NumNodes=1 NumCPUs={} NumTasks={} CPUs/Task=1 ReqB:S:C:T=0:0:*:*\n   Gres={} Reservation=(null)\n"
        "   Command=/pylon5/Deep_MNIST/{}\n   Power=\n\n"
        "+ env\nAUTOJUMP_ERROR_PATH=Killed MemoryError: x\nLOCAL=/local/1\n+ which python\n+ python {}\n"
        "name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8235\n{}{}",
        before_run, id, partition, node, cpus, tasks, gres, script, python, output, after);
  }
};

constexpr const char* kResult =
    "step 0, training accuracy 0.06\nstep 1000, training accuracy 0.94\nstep 19000, training accuracy 1\n"
    "test accuracy 0.9922\nMean Time Per Step : 0.0189142023802\nMean Speed : 2643.51617874 Images/Sec\n"
    "speed uncertainty : 3.94097403\nSpeed Jitter : 340.057168827\n\n"
    "real\t6m37.762s\nuser\t6m33.443s\nsys\t1m52.516s\n+ date\nMon Jun  4 12:45:22 EDT 2018\n";

bool has_warning(const RunRecord& run, const std::string& kind, const std::string& part) {
  for (const record::Warning& warning : run.warnings)
    if (warning.kind == kind && warning.text.find(part) != std::string::npos) return true;
  return false;
}

std::string setting(const RunRecord& run, const char* name) {
  const auto found = run.asked.find(name);
  return found == run.asked.end() ? "" : record::to_text(found->second);
}

TEST(ImportPsc, ReadsAResult) {
  const RunRecord run = import_psc_output("2018-06-04-k80:1:local",
                                          PscJob{.script = "gpuJob_local.slurm", .output = kResult}.text());
  EXPECT_EQ(run.status, Status::ok) << run.reason;
  EXPECT_EQ(run.id, "psc-3072349");
  EXPECT_EQ(run.node, "gpu006");
  EXPECT_EQ(run.started_seconds, 1528130320);  // 16:38:40 UTC
  EXPECT_EQ(run.statistics.legacy.mean_seconds, 0.0189142023802);
  EXPECT_EQ(run.statistics.legacy.mean_speed, 2643.51617874);
  EXPECT_EQ(run.statistics.legacy.speed_uncertainty, 3.94097403);
  EXPECT_EQ(run.statistics.legacy.speed_jitter, 340.057168827);
  EXPECT_EQ(run.images_per_second, 2643.51617874);
  EXPECT_EQ(run.images_per_step, 50);
  EXPECT_TRUE(run.step_seconds.empty());
  EXPECT_EQ(run.figure_or("test_accuracy", 0), 0.9922);
  EXPECT_NEAR(run.wall_seconds, 397.762, 1e-9);
  EXPECT_NEAR(run.figure_or("cores_used", 0), (393.443 + 112.516) / 397.762, 1e-9);
  for (const auto& [name, value] : {std::pair{"batch", "50"},
                                    {"gpu_type", "k80"},
                                    {"gpus", "1"},
                                    {"staging", "local"},
                                    {"strategy", "single"},
                                    {"partition", "GPU-shared"},
                                    {"device", "cuda"}})
    EXPECT_EQ(setting(run, name), value) << name;
  EXPECT_EQ(record::to_text(*record::find_fact(run.provenance, "software", "tensorflow")), "1.5_gpu");
  EXPECT_EQ(record::to_text(*record::find_fact(run.provenance, "gpu", "model")), "Tesla K80");
  EXPECT_TRUE(run.warnings.empty());
}

TEST(ImportPsc, KnowsOtherWaysToPrint) {
  const RunRecord early =
      import_psc_output("2018-05-31-k80:1",
                        PscJob{.output = "Mean Time : 0.0100046540141\nMean Speed : 4997.67407543\n"}.text());
  EXPECT_EQ(early.status, Status::ok);
  EXPECT_EQ(early.statistics.legacy.mean_seconds, 0.0100046540141);
  EXPECT_EQ(setting(early, "batch"), "50");
  EXPECT_EQ(setting(early, "staging"), "in-place");
  const RunRecord small = import_psc_output(
      "2018-07-01-GPU-p100:1:16:scratch",
      PscJob{.output = "graMean Time Per Step : 9e-05\nMean Speed : 1.777e+05 Images/Sec\n"}.text());
  EXPECT_EQ(small.statistics.legacy.mean_seconds, 9e-05);
  EXPECT_EQ(small.statistics.legacy.mean_speed, 177700);
}

TEST(ImportPsc, CountsTheImagesOfEveryTower) {
  // 22 June, two K80: B 1024 printed, 2048 taken. 0.14502 is 297 of 2048 and no number of 1024.
  PscJob job{.gres = "gpu:k80:2", .python = "CNN_MNIST_PS.py"};
  const std::string figures = "Mean Time Per Step : 0.0886924197197\nMean Speed : 11545.518808 Images/Sec\n";
  job.output = "step 0, training accuracy 0.14502\nstep 100, training accuracy 0.936523\n" + figures;
  const RunRecord run = import_psc_output("2018-06-22-GPU-k80:2:scratch:PS", job.text());
  EXPECT_EQ(setting(run, "batch"), "1024");
  EXPECT_EQ(setting(run, "strategy"), "towers-host");
  EXPECT_EQ(setting(run, "scaling"), "weak");
  EXPECT_EQ(run.images_per_step, 2048);
  EXPECT_NEAR(*run.images_per_second, 23'091, 0.5);
  EXPECT_EQ(run.statistics.legacy.mean_speed, 11545.518808);
  EXPECT_TRUE(has_warning(run, "throughput", "1024 of 2048 images"));
  // Later the same program shared one batch out: 0.5 and 0.25 are shares of 1024.
  job.output = "step 0, training accuracy 0.5\nstep 100, training accuracy 0.25\n" + figures;
  const RunRecord strong = import_psc_output("2018-07-01-GPU-k80:2:1024:scratch:PS", job.text());
  EXPECT_EQ(setting(strong, "scaling"), "strong");
  EXPECT_NEAR(*strong.images_per_second, 11'545.5, 0.1);
  // The other programs always took one batch for each.
  job.python = "CNN_MNIST_INDEPENDENT.py";
  job.gres = "gpu:k80:4";
  job.output = "Mean Time Per Step : 0.068685\nMean Speed : 7454.3 Images/Sec\n";
  const RunRecord independent = import_psc_output("2018-06-22-GPU-k80:4:scratch:IN", job.text());
  EXPECT_EQ(setting(independent, "batch"), "512");
  EXPECT_NEAR(*independent.images_per_second, 29'817, 1);
  EXPECT_EQ(setting(independent, "strategy"), "towers-device");
}

TEST(ImportPsc, WarnsOfLabelsCoresAndIdleDevices) {
  // 5 July: 8 cores asked, 28 allotted, (289m54.259s + 492m49.834s) / 28m12.133s used.
  PscJob job{
      .node = "r560", .gres = "(null)", .partition = "RM", .script = "cpuJob.slurm", .cpus = 28, .tasks = 8};
  job.before_run = "Model name:            Intel(R) Xeon(R) CPU E5-2695 v3 @ 2.30GHz\n";
  job.python = "CNN_MNIST_CPU_ONLY.py 64";
  job.output =
      "Mean Time Per Step : 0.335000883818\nMean Speed : 191.044272095 Images/Sec\n\n"
      "real\t28m12.133s\nuser\t289m54.259s\nsys\t492m49.834s\n";
  const RunRecord run = import_psc_output("2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch", job.text());
  EXPECT_TRUE(has_warning(run, "label", "labelled E5-2695-V2, lscpu found E5-2695-V3"));
  EXPECT_TRUE(has_warning(run, "cores", "27.8 cores used, 8 asked, 28 allotted"));
  EXPECT_EQ(setting(run, "device"), "cpu");
  EXPECT_EQ(setting(run, "tasks_per_node"), "8");
  EXPECT_EQ(setting(run, "batch"), "64");
  EXPECT_EQ(setting(run, "gpus"), "");
  const RunRecord idle =
      import_psc_output("2018-06-04-k80:4:local", PscJob{.gres = "gpu:k80:4", .output = kResult}.text());
  EXPECT_TRUE(has_warning(idle, "devices", "4 GPUs allotted, one used"));
}

TEST(ImportPsc, SaysWhyThereIsNoResult) {
  const auto expect = [](const std::string& output, Status status, const std::string& part) {
    const RunRecord run =
        import_psc_output("2018-07-05-CPU-RM:E5-2695-V2:4:4096:scratch", PscJob{.output = output}.text());
    EXPECT_EQ(run.status, status) << output << run.reason;
    EXPECT_NE(run.reason.find(part), std::string::npos) << run.reason;
    EXPECT_FALSE(run.images_per_second);
    EXPECT_EQ(setting(run, "batch"), "4096");
  };
  expect("python: can't open file 'CNN_MNIST_PS.py': [Errno 2] No such file or directory\n\nreal\t0m0.046s\n",
         Status::failed, "can't open file");
  expect(
      "  File \"CNN_MNIST_PS.py\", line 9\n    print \"Mean Speed : \" + 50\nSyntaxError: invalid syntax\n",
      Status::failed, "SyntaxError: invalid syntax");
  expect("Traceback (most recent call last):\nNameError: name 'num_tasks' is not defined\n", Status::failed,
         "NameError");
  expect("tensorflow.python.framework.errors_impl.InvalidArgumentError: Cannot assign\n", Status::failed,
         "InvalidArgument");
  expect(
      "slurmstepd: error: *** JOB 3492443 ON r087 CANCELLED AT 2018-07-05T18:29:32 DUE TO TIME LIMIT ***\n",
      Status::timeout, "TIME LIMIT");
  expect("slurmstepd: error: *** JOB 3114641 ON r112 CANCELLED AT 2018-06-13T12:43:38 ***\n",
         Status::cancelled, "3114641");
  expect("slurm_script: line 27: 32214 Illegal instruction     python CNN_MNIST_CPU_ONLY.py\n", Status::crash,
         "Illegal");
  expect("slurm_script: line 27: 1 Segmentation fault      (core dumped) python x\n", Status::crash,
         "Segmentation");
  expect("ResourceExhaustedError (see above for traceback): OOM when allocating tensor\n", Status::oom,
         "OOM");
  expect("slurmstepd: error: Detected 1 oom-kill event(s) in step 1.batch\nKilled\n", Status::oom,
         "oom-kill");
  expect("step 0, training accuracy 0.1\n", Status::failed, "no result printed");
}

// Jobs of several nodes print their environment instead of asking scontrol.
TEST(ImportPsc, TakesOutputsOfSeveralNodes) {
  const std::string text =
      "SLURM_CHECKPOINT_IMAGE_DIR=/var/slurm/checkpoint\nSLURM_NODELIST=gpu[018-019]\nSLURM_JOB_ID=3691439\n"
      "SLURM_JOB_NUM_NODES=2\nSLURM_JOB_PARTITION=GPU\nSLURM_JOB_NODELIST=gpu[018-019]\nSLURM_NTASKS=2\n"
      "SLURM_CPUS_ON_NODE=32\nCUDA_VISIBLE_DEVICES=0,1\nLAST_WORDS=Killed\nBASH_FUNC_module()=() {  eval "
      "x\n}\n\n"
      "0\nExecuting PS on  Node : 0 on host : gpu018.pvt.bridges.psc.edu \n"
      "2018-07-30 18:05:24.857507: E tensorflow/stream_executor/cuda/cuda_driver.cc:406] failed call\n"
      "Traceback (most recent call last):\nNameError: name 'server' is not defined\n";
  const record::RunRecord run = import_psc_output("slurm-3691439.out", text);
  EXPECT_EQ(run.id, "psc-3691439");
  EXPECT_EQ(run.status, record::Status::failed);
  EXPECT_EQ(run.reason, "NameError: name 'server' is not defined") << "the environment is no output";
  EXPECT_EQ(run.node, "gpu[018-019]");
  EXPECT_EQ(run.asked.at("nodes"), record::Value(std::int64_t{2}));
  EXPECT_EQ(run.asked.at("devices"), record::Value(std::int64_t{1})) << "the first node is the server";
  EXPECT_EQ(run.asked.at("strategy"), record::Value(std::string("asp")));
  EXPECT_EQ(run.asked.at("gpus"), record::Value(std::int64_t{2}));
  EXPECT_EQ(run.asked.at("partition"), record::Value(std::string("GPU")));
  EXPECT_EQ(run.figure_or("cores_allotted", 0), 64);
  EXPECT_EQ(run.started_seconds, 1532988324) << "as TensorFlow's first line says, in Pittsburgh";
  EXPECT_TRUE(run.warnings.empty());
}

TEST(ImportPsc, TakesOutputsFromAFolderOnceAndNumbersReplicates) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("trainyard-psc-{}", ::getpid());
  fs::create_directories(folder / "archived");
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("2018-06-04-k80:1:local", PscJob{.output = kResult}.text());
  write("archived/2018-06-04-k80:1:local", PscJob{.output = kResult}.text());
  write("2018-06-05-k80:1:local", PscJob{.id = "3072350", .output = kResult}.text());
  write("slurm-3072351.out", PscJob{.id = "3072351", .output = kResult}.text());
  write("2018-06-05:TF_PERFORMANCE_RESULTS.csv", ",mean_speed\n0,8732.9\n");
  write("2018-06-05:K80-LOCAL.png", "\x89PNG");
  const std::vector<RunRecord> runs = import_psc({folder});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].replicate + runs[1].replicate, 3);
  EXPECT_EQ(import_psc({folder / "2018-06-05-k80:1:local"}).size(), 1u);
  EXPECT_THROW(import_psc({folder / "none"}), Error);
  fs::remove_all(folder);
}

// The published outputs: TRAINYARD_PSC_FOLDER, or the sample beside the tree, in whose root tests run.
class PublishedPsc : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TRAINYARD_PSC_FOLDER");
    folder_ = given != nullptr ? fs::path(given) : fs::path("../shared/data/psc");
    if (!fs::is_directory(folder_)) GTEST_SKIP() << "no published outputs at '" << folder_.string() << "'";
    runs_ = import_psc({folder_});
  }

  const RunRecord* find(const std::string& file) const {
    for (const RunRecord& run : runs_)
      if (record::to_text(*record::find_fact(run.provenance, "import", "file")) == file) return &run;
    return nullptr;
  }

  fs::path folder_;
  std::vector<RunRecord> runs_;
};

TEST_F(PublishedPsc, EveryOutputIsAResultOrAReason) {
  ASSERT_GE(runs_.size(), 13u);
  for (const RunRecord& run : runs_) {
    SCOPED_TRACE(run.id);
    EXPECT_EQ(run.status == Status::ok, run.reason.empty());
    EXPECT_EQ(run.status == Status::ok, run.images_per_second.has_value());
    EXPECT_NE(run.node, "");
  }
  const RunRecord* towers = find("2018-06-22-GPU-k80:2:scratch:PS");
  ASSERT_NE(towers, nullptr);
  EXPECT_NEAR(*towers->images_per_second, 23'091, 0.5);
  EXPECT_EQ(find("2018-06-22-GPU-k80:2:local:PS")->status, Status::failed);
  EXPECT_TRUE(has_warning(*find("2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch"), "label", "E5-2695-V3"));
}

TEST_F(PublishedPsc, TheirTableComesOutOfTheirLogs) {
  const fs::path table = folder_ / "2018-06-05:TF_PERFORMANCE_RESULTS.csv";
  if (!fs::exists(table)) GTEST_SKIP() << "no '" << table.string() << "'";
  std::ifstream stream(table);
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(line, legacy_csv_head());
  std::vector<std::string> expected, found;
  const auto without_index = [](const std::string& row) { return row.substr(row.find(',')); };
  while (std::getline(stream, line)) expected.push_back(without_index(line));
  for (const RunRecord& run : runs_)
    if (record::to_text(*record::find_fact(run.provenance, "import", "file")).starts_with("2018-06-04"))
      found.push_back(without_index(legacy_csv_row(0, run)));
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(expected.size(), 10u);
  EXPECT_EQ(found, expected);
}

}  // namespace

}  // namespace trainyard::study
