#include "predict/runs/run_table.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "predict/runs/network_work.h"
#include "predict/runs/run_set.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

constexpr const char* kHead = "GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Resource,Execution Time\n";

RunTable table_of(const TestFolder& folder, const std::string& rows, const std::string& head = kHead) {
  std::ofstream(folder.path() / "runs.csv") << head << rows;
  return read_run_csv(folder.path() / "runs.csv");
}

std::string complaint_about(const std::string& rows, const std::string& head = kHead) {
  const TestFolder folder;
  try {
    table_of(folder, rows, head);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunTableTest, RowsOfOneRunAreOne) {
  const TestFolder folder;
  const RunTable table =
      table_of(folder,
               "GTX1080,vgg11,8,sgd,10,cifar10,CPU,5600\nGTX1080,vgg11,8,sgd,10,cifar10,GPU,5600\n"
               "TitanX,lenet,64,adam,20,imagenet,CPU,70.5\n");
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.runs[0].steps(), 10 + 10 * 50000 / 8);
  EXPECT_EQ(table.runs[0].classes, 11);
  EXPECT_EQ(table.runs[1].steps(), 10 + 20 * 64058 / 64.0);
  EXPECT_EQ(table.runs[1].optimizer, ops::Rule::adam);
  EXPECT_EQ(table.runs[1].seconds, 70.5);
}

TEST(RunTableTest, RunsThatDoNotGrowWithTheirEpochsRanOutOfMemory) {
  const TestFolder folder;
  const RunTable table =
      table_of(folder,
               "GTX1080,vgg16,64,adam,10,cifar10,CPU,20\nGTX1080,vgg16,64,adam,20,cifar10,CPU,21\n"
               "GTX1080,lenet,64,adam,10,cifar10,CPU,20\nGTX1080,lenet,64,adam,20,cifar10,CPU,38\n");
  EXPECT_EQ(table.runs[0].end, RunEnd::oom);
  EXPECT_EQ(table.runs[1].end, RunEnd::oom);
  EXPECT_EQ(table.runs[2].end, RunEnd::ok);
  EXPECT_EQ(table.runs[3].end, RunEnd::ok);
}

TEST(RunTableTest, RunsFasterThanTheDeviceCanBeDidNotRun) {
  const TestFolder folder;
  const RunSet set = prepare_runs(
      table_of(folder,
               "GTX1080,vgg16,64,adam,10,cifar10,CPU,25\nGTX1080,vgg16,32,adam,10,cifar10,CPU,5400\n"),
      known_devices());
  EXPECT_EQ(set.rows[0].run.end, RunEnd::oom);
  EXPECT_EQ(set.rows[1].run.end, RunEnd::ok);
}

TEST(RunTableTest, MistakesAreNamedWithTheirLine) {
  EXPECT_NE(complaint_about("GTX1080,vgg11,0,sgd,10,cifar10,CPU,5\n").find("runs.csv:2: BatchSize '0'"),
            std::string::npos);
  EXPECT_NE(complaint_about("GTX1080,vgg11,8,lars,10,cifar10,CPU,5\n").find("optimizer 'lars': one of sgd"),
            std::string::npos);
  EXPECT_NE(complaint_about("GTX1080,vgg11,8,sgd,10,coco,CPU,5\n").find("dataset 'coco': one of cifar10"),
            std::string::npos);
  EXPECT_NE(complaint_about("GTX1080,vgg11,8,sgd,10,cifar10,CPU,nan\n").find("Execution Time 'nan'"),
            std::string::npos);
  EXPECT_NE(complaint_about("GTX1080,vgg11\n").find("2 columns"), std::string::npos);
  EXPECT_NE(complaint_about("", "GPU,Model\n").find("no column 'BatchSize'"), std::string::npos);
  EXPECT_NE(complaint_about("").find("no runs"), std::string::npos);
}

TEST(RunTableTest, UnknownNamesAreRefusedOrCounted) {
  RunTable table = made_up_table();
  table.runs[0].network = "nasnet";
  table.runs[1].device = "Voodoo";
  EXPECT_THROW(prepare_runs(table, known_devices()), Error);
  const RunSet set = prepare_runs(table, known_devices(), true);
  EXPECT_EQ(set.rows.size(), table.runs.size() - 2);
  EXPECT_EQ(set.skipped.at("nasnet"), 1);
  EXPECT_EQ(set.skipped.at("Voodoo"), 1);
}

TEST(RunTableTest, RecordsAreRunsOfTheirSteps) {
  record::RunRecord record;
  record.asked = {
      {"network", std::string("lenet")}, {"batch", std::int64_t{32}}, {"device", std::string("cuda")}};
  record.warmup_step_seconds = {0.5, 0.25};
  record.step_seconds = {0.125, 0.125};
  const RunTable table = table_of_records({record}, "H200", "here");
  ASSERT_EQ(table.runs.size(), 1u);
  EXPECT_EQ(table.runs[0].device, "H200");
  EXPECT_EQ(table.runs[0].steps(), 2);
  EXPECT_EQ(table.runs[0].seconds, 0.25);
  EXPECT_FALSE(table.runs[0].with_start);
  record.status = record::Status::nan;
  EXPECT_THROW(table_of_records({record}, "", "here"), Error);
}

TEST(RunTableTest, RecordsSayWhatTheyHadInMemory) {
  record::RunRecord record;
  record.asked = {{"network", std::string("lenet")}, {"batch", std::int64_t{32}}};
  record.step_seconds = {0.1};
  record.words["backend"] = "onednn";
  record.figures = {{"peak_memory_bytes", 5e7}, {"plan_bytes", 3e7}, {"threads", 2}};
  record.details["ops"] =
      R"({"kernels": [{"name": "a", "op": "conv2d", "seconds": 0.1, "workspace_bytes": 4096},
                      {"name": "b", "op": "conv2d", "seconds": 0.1}]})";
  const auto run = [&] { return table_of_records({record}, "", "here").runs.at(0); };
  EXPECT_EQ(run().memory.peak_bytes, 5e7);
  EXPECT_EQ(run().memory.plan_bytes, 3e7);
  EXPECT_EQ(run().memory.backend, "onednn");
  EXPECT_EQ(run().memory.threads, 2);
  EXPECT_EQ(run().kernels[0].workspace_bytes, 4096);
  EXPECT_LT(run().kernels[1].workspace_bytes, 0);
  record.asked["device"] = std::string("cuda");
  EXPECT_EQ(run().memory.peak_bytes, 0);  // the host's memory says nothing of the device's
  record.figures["device_memory_bytes"] = 7e7;
  EXPECT_EQ(run().memory.peak_bytes, 7e7);
}

TEST(RunTableTest, RecordsSayWhichGeneratedNetworkAndWhatItsKernelsTook) {
  record::RunRecord record;
  record.asked = {{"network", std::string("mix")},
                  {"draw", std::int64_t{7}},
                  {"batch", std::int64_t{4}},
                  {"precision", std::string("bf16")}};
  record.step_seconds = {0.1, 0.3, 0.2};
  record.details["ops"] =
      R"({"kernels": [{"name": "stem", "op": "conv2d", "kernel": "own:conv2d", "seconds": 0.05}]})";
  const TableRun run = table_of_records({record}, "", "here").runs.at(0);
  EXPECT_EQ(run.parameters, (networks::generator::Given{{"draw", "7"}}));
  EXPECT_EQ(run.precision, backend::Precision::bf16);
  EXPECT_NEAR(run.seconds, 0.6, 1e-12);  // the median, three times
  ASSERT_EQ(run.kernels.size(), 1u);
  EXPECT_EQ(run.kernels[0].op, "conv2d");
  EXPECT_EQ(run.kernels[0].seconds, 0.05);
  record.details["ops"] = R"({"kernels": [{"name": "stem"}]})";
  expect_error(ErrorKind::config, "want name, op and seconds",
               [&] { table_of_records({record}, "", "here"); });
}

TEST(RunTableTest, OfRunsThatWereAskedForTheSameTheFastestIsKept) {
  record::RunRecord slow;
  slow.asked = {{"network", std::string("lenet")}, {"batch", std::int64_t{32}}};
  slow.step_seconds = {0.25, 0.25};
  slow.details["ops"] = R"({"kernels": [{"name": "a", "op": "conv2d", "seconds": 0.1}]})";
  record::RunRecord fast = slow, other = slow;
  fast.step_seconds = {0.125};
  other.asked["batch"] = std::int64_t{64};
  const RunTable table = table_of_records({slow, fast, other, slow}, "", "here");
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.runs[0].seconds, 0.125);
  EXPECT_EQ(table.runs[1].batch, 64);
  slow.details.any().clear();
  EXPECT_EQ(table_of_records({slow, slow}, "", "here").runs.size(), 2u);
}

TEST(RunTableTest, VariantsOfARuleAreOfTheRule) {
  EXPECT_EQ(optimizer_named("adamw"), ops::Rule::adam);
  EXPECT_EQ(optimizer_named("nesterov"), ops::Rule::momentum);
  EXPECT_EQ(optimizer_named("rmsprop"), ops::Rule::rmsprop);
  expect_error(ErrorKind::config, "adam, adamw", [] { optimizer_named("adamax"); });
}

TEST(RunTableTest, RecordsMayStandOneALine) {
  const TestFolder folder;
  record::RunRecord record;
  record.asked = {{"network", std::string("lenet")}, {"batch", std::int64_t{32}}};
  record.step_seconds = {0.25};
  const std::string line = to_json(record) + "\n";
  record.asked["batch"] = std::int64_t{64};
  std::ofstream(folder.path() / "runs.jsonl") << line + "\n" + to_json(record);
  EXPECT_EQ(read_runs(folder.path() / "runs.jsonl").runs.size(), 2u);
  std::ofstream(folder.path() / "broken.jsonl") << line + "{\n";
  expect_error(ErrorKind::config,
               "broken.jsonl' line 2: ", [&] { read_runs(folder.path() / "broken.jsonl"); });
  expect_error(ErrorKind::config, "none.jsonl.gz", [&] { read_runs(folder.path() / "none.jsonl.gz"); });
}

TEST(NetworkNameTest, UsualSpellingsAreFound) {
  for (const auto& [given, found] : {std::pair("densenet40-k12", "densenet40_k12"),
                                     {"DenseNet40_k12", "densenet40_k12"},
                                     {"resnet110_cifar", "resnet110"},
                                     {"resnet56-cifar10", "resnet56"},
                                     {"resnet50_v1.5", "resnet50"},
                                     {"resnet50_v2", "resnet50"},
                                     {"inception_v3", "inception3"},
                                     {"vgg-16", "vgg16"},
                                     {"mobilenet", "mobilenet_v1"},
                                     {"inception-resnet-v2", "inception_resnet_v2"},
                                     {"trivial", "trivial"}})
    EXPECT_EQ(named_network(given).network, found) << given;
  EXPECT_EQ(named_network("alexnet").input[1], 227);
  EXPECT_FALSE(find_named_network("nasnet"));
  EXPECT_FALSE(find_named_network("resnet51"));
  EXPECT_FALSE(find_named_network(""));
}

}  // namespace
}  // namespace trainyard::predict
