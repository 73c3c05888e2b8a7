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

TEST(RunTableTest, SmallNetworksMayTakeMostOfTheirTimeToStart) {
  const TestFolder folder;
  const RunSet set = prepare_runs(
      table_of(folder,
               "GTX1080,trivial,64,sgd,10,cifar10,CPU,30\nGTX1080,trivial,64,sgd,20,cifar10,CPU,37\n"),
      known_devices());
  EXPECT_EQ(set.rows[0].run.end, RunEnd::ok);
  EXPECT_EQ(set.rows[1].run.end, RunEnd::ok);
}

// Such a run is of another network than its name says, which its error has to show.
TEST(RunTableTest, RunsThatGrowWithTheirEpochsRanWhateverTheirSpeed) {
  const TestFolder folder;
  const RunSet set = prepare_runs(
      table_of(folder, "GTX1080,vgg16,64,sgd,10,cifar10,CPU,100\nGTX1080,vgg16,64,sgd,20,cifar10,CPU,195\n"),
      known_devices());
  EXPECT_EQ(set.rows[0].run.end, RunEnd::ok);
  EXPECT_EQ(set.rows[1].run.end, RunEnd::ok);
}

TEST(RunTableTest, AStatusIsBelieved) {
  const TestFolder folder;
  const RunSet set =
      prepare_runs(table_of(folder,
                            "GTX1080,vgg16,64,adam,10,cifar10,20,ok\nGTX1080,vgg16,64,adam,20,cifar10,21,ok\n"
                            "GTX1080,vgg16,32,adam,20,cifar10,5400,oom\n",
                            "GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Execution Time,Status\n"),
                   known_devices());
  EXPECT_EQ(set.rows[0].run.end, RunEnd::ok);
  EXPECT_EQ(set.rows[1].run.end, RunEnd::ok);
  EXPECT_EQ(set.rows[2].run.end, RunEnd::oom);
}

TEST(RunTableTest, ColumnsSayMoreThanTheDataSet) {
  const TestFolder folder;
  const RunTable table =
      table_of(folder,
               "GTX1080,lenet,10,sgd,1,coco,100,1000,7,\n"
               "GTX1080,vgg16,10,sgd,1,imagenet,100,1281170,,64\n"
               "GTX1080,lenet,10,sgd,1,mnist,100,,,\n",
               "\xEF\xBB\xBFGPU,Model,BatchSize,Optimizer,Epoch,Dataset,Execution Time,Images,"
               "Classes,ImageSize\n");
  ASSERT_EQ(table.runs.size(), 3u);
  EXPECT_EQ(table.runs[0].steps(), 110);
  EXPECT_EQ(table.runs[0].classes, 7);
  EXPECT_EQ(table.runs[1].steps(), 10 + 128117);
  EXPECT_EQ(table.runs[1].classes, 1001);
  EXPECT_EQ(network_of(table.runs[1]).input, (Shape{3, 64, 64}));
  EXPECT_EQ(table.runs[2].steps(), 6010);
  EXPECT_EQ(network_of(table.runs[2]).input, (Shape{1, 28, 28}));
}

TEST(RunTableTest, WithADataSetANameMayMeanAnotherNetwork) {
  const TestFolder folder;
  const RunSet set = prepare_runs(
      table_of(folder,
               "GTX1080,alexnet,8,sgd,1,cifar10,CPU,100\nGTX1080,alexnet,8,sgd,1,imagenet,CPU,900\n"
               "GTX1080,trivial,8,sgd,1,cifar10,CPU,100\nGTX1080,trivial,8,sgd,1,imagenet,CPU,900\n"),
      known_devices());
  EXPECT_EQ(set.rows[0].run.network, "cifarnet");
  EXPECT_EQ(set.rows[1].run.network, "alexnet_v2");
  EXPECT_EQ(set.work(set.rows[0]).input_bytes, 8 * (3 * 32 * 32 + 1) * 4);
  EXPECT_EQ(set.work(set.rows[1]).input_bytes, 8 * (3 * 227 * 227 + 1) * 4);
  EXPECT_EQ(set.work(set.rows[2]).parameters, 3 * 32 * 32 + 1 + 2 * 4096 + 4097 * 11);
  EXPECT_GT(set.work(set.rows[3]).input_bytes, 50 * set.work(set.rows[2]).input_bytes);
  EXPECT_GT(set.work(set.rows[1]).saved_bytes, 5 * set.work(set.rows[0]).saved_bytes);
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
  const std::string sized = "GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Execution Time,ImageSize\n";
  EXPECT_NE(complaint_about("GTX1080,vgg11,8,sgd,10,cifar10,9,1.5\n", sized).find("ImageSize '1.5'"),
            std::string::npos);
  EXPECT_NE(complaint_about("GTX1080,vgg11,8,sgd,10,coco,9,\n", sized).find("images of an epoch"),
            std::string::npos);
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
  EXPECT_EQ(named_network("alexnet", "imagenet").input[1], 227);
  for (const auto& [name, data] :
       {std::pair("alexnet", "cifar10"), {"AlexNet", "CIFAR-100"}, {"alexnet_cifar10", ""}}) {
    EXPECT_EQ(named_network(name, data).network, "cifarnet") << name;
    EXPECT_EQ(named_network(name, data).input, (Shape{3, 32, 32})) << name;
  }
  EXPECT_EQ(named_network("trivial", "cifar10").input, (Shape{3, 32, 32}));
  EXPECT_EQ(named_network("trivial", "mnist").input, (Shape{1, 28, 28}));
  EXPECT_EQ(named_network("lenet", "mnist").input, (Shape{1, 28, 28}));
  for (const char* name : {"vgg16", "resnet20", "lenet"})
    EXPECT_EQ(named_network(name, "cifar10").input.rank(), 0) << "it has the images of its class";
  EXPECT_EQ(named_network("transformer", "mnist").input.rank(), 0);
  EXPECT_FALSE(find_named_network("nasnet"));
  EXPECT_FALSE(find_named_network("resnet51"));
  EXPECT_FALSE(find_named_network(""));
}

}  // namespace
}  // namespace trainyard::predict
