#include "trainyard/trainyard.h"

#include <sched.h>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/test_models.h"

namespace trainyard {
namespace {

RunSettings small_run() { return {.batch = 8, .threads = 1}; }

int cores_of_this_thread() {
  ::cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::filesystem::path write_onnx(const TestFolder& folder, const networks::Model& model) {
  return folder.write("of_file.onnx", interchange::onnx_file_of(model));
}

TEST(Api, NamesTheNetworksAndTheirParameters) {
  bool generated = false, fixed = false;
  for (const NetworkEntry& entry : known_networks()) {
    generated = generated || (entry.name == "rnn" && !entry.parameters.empty());
    fixed = fixed || (entry.name == "lenet" && entry.parameters.empty());
  }
  EXPECT_TRUE(generated && fixed);
}

TEST(Api, ErrorsNameTheSetting) {
  expect_error(ErrorKind::usage, "lenet", [] { Network::named("lenett"); });
  expect_error(ErrorKind::usage, "hidden", [] { Network::named("rnn", {{"hidden", "none"}}); });
  const Network lenet = Network::named("lenet");
  expect_error(ErrorKind::usage, "optimizer 'adm' (did you mean 'adam'?)", [&] {
    RunSettings run = small_run();
    run.optimizer = "adm";
    train_network(lenet, {.run = run});
  });
  expect_error(ErrorKind::usage, "batch: '0' given", [&] {
    RunSettings run = small_run();
    run.batch = 0;
    measure_network(lenet, {.run = run});
  });
  expect_error(ErrorKind::usage, "resume",
               [&] { train_network(lenet, {.run = small_run(), .resume = true}); });
  expect_error(ErrorKind::usage, "sequences",
               [&] { train_network(Network::named("rnn"), {.run = small_run(), .data = "mnist"}); });
}

TEST(Api, ReadsListsOfLayers) {
  const TestFolder folder;
  const auto file =
      folder.write("net.yaml",
                   "input: {height: 8, width: 8, channels: 1}\nclasses: 4\nparameters: {units: 16}\n"
                   "layers: [dense: {units: $units, activation: relu}, logits]\n");
  const Network network = Network::from_yaml(file);
  EXPECT_EQ(network.input_shape(), (std::vector<std::int64_t>{1, 8, 8}));
  EXPECT_EQ(network.classes(), 4);
  EXPECT_EQ(network.step_cost(1).parameters, 64 * 16 + 16 + 16 * 4 + 4);
  EXPECT_EQ(Network::from_yaml(file, {{"units", "8"}}, 3).step_cost(1).parameters, 64 * 8 + 8 + 8 * 3 + 3);
  TrainSettings settings{.run = small_run(), .steps = 40};
  settings.run.learning_rate = 0.1;
  const TrainReport report = train_network(network, settings);
  EXPECT_LT(report.final_loss, report.first_loss);
  expect_error(ErrorKind::usage, "unit", [&] { Network::from_yaml(file, {{"unit", "8"}}); });
  expect_error(ErrorKind::usage, "ends with .yaml or .yml", [] { Network::from_yaml("net.json"); });
  expect_error(ErrorKind::config, "bad.yaml:3:10: unknown layer 'dens' (did you mean 'dense'?)", [&] {
    Network::from_yaml(folder.write("bad.yaml", "input: {features: 3}\nclasses: 4\nlayers: [dens: 3]\n"));
  });
}

TEST(Api, TrainsAndGoesOnFromACheckpoint) {
  const TestFolder folder;
  const Network lenet = Network::named("lenet", {}, 4);
  const int cores = cores_of_this_thread();
  TrainSettings settings{.run = small_run(), .steps = 12, .folder = folder.path() / "run"};
  std::int64_t heard = 0;
  settings.on_progress = [&](std::int64_t done) { heard = done; };
  const TrainReport first = train_network(lenet, settings);
  EXPECT_EQ(first.final_step, 12);
  EXPECT_EQ(first.step_seconds.size(), 12u);
  EXPECT_NEAR(first.first_loss, std::log(4.0), 0.3);
  EXPECT_LT(first.final_loss, 100);
  ASSERT_TRUE(first.test_accuracy.has_value());
  EXPECT_GT(first.images_per_second, 0);
  EXPECT_TRUE(std::filesystem::exists(first.checkpoint));
  EXPECT_GT(heard, 0);
  EXPECT_EQ(cores_of_this_thread(), cores) << "the caller's thread keeps its cores";

  expect_error(ErrorKind::usage, "run", [&] { train_network(lenet, settings); });  // it would be overwritten
  settings.resume = true;
  settings.steps = 15;
  const TrainReport more = train_network(lenet, settings);
  EXPECT_EQ(more.first_step, 12);
  EXPECT_EQ(more.final_step, 15);
}

TEST(Api, MeasuresStepsAndTheirCost) {
  const Network network = Network::named("rnn", {{"hidden", "32"}, {"layers", "1"}, {"length", "5"}});
  const Measurement measured = measure_network(network, {.run = small_run(), .warmup_steps = 1, .steps = 4});
  EXPECT_EQ(measured.step_seconds.size(), 4u);
  EXPECT_GT(measured.min_seconds, 0);
  EXPECT_LE(measured.min_seconds, measured.mean_seconds);
  EXPECT_EQ(measured.cost.flops, network.step_cost(8).flops);
  EXPECT_EQ(measured.cost.parameters, network.step_cost(8).parameters);
  EXPECT_GT(measured.plan_bytes, 4 * measured.cost.parameters);
  EXPECT_GT(measured.peak_bytes, measured.plan_bytes);
  EXPECT_EQ(measured.threads, 1);
  const Measurement forward =
      measure_network(network, {.run = small_run(), .training = false, .warmup_steps = 1, .steps = 4});
  EXPECT_LT(forward.cost.flops, measured.cost.flops);
}

TEST(Api, AnImportedNetworkCostsAndTrainsLikeTheOneThatWasExported) {
  const TestFolder folder;
  const auto file =
      write_onnx(folder, networks::build_model({.network = "lenet", .batch = 4, .training = false}));
  const Network imported = Network::from_onnx(file), own = Network::named("lenet");
  EXPECT_EQ(imported.name(), "of_file");
  EXPECT_EQ(imported.input_shape(), own.input_shape());
  EXPECT_EQ(imported.classes(), own.classes());
  EXPECT_EQ(imported.step_cost(16).parameters, own.step_cost(16).parameters);
  EXPECT_EQ(imported.step_cost(16).flops, own.step_cost(16).flops);
  TrainSettings settings{.run = small_run(), .steps = 40};
  settings.run.learning_rate = 0.05;
  const TrainReport report = train_network(imported, settings);
  EXPECT_LT(report.final_loss, report.first_loss);
  EXPECT_TRUE(report.test_accuracy.has_value());
}

TEST(Api, GoesOnFromWeightsAndLeavesFrozenOnesAsTheyAre) {
  const TestFolder folder;
  const Network lenet = Network::named("lenet", {}, 4);
  TrainSettings settings{.run = small_run(), .steps = 12, .evaluate = false, .folder = folder.path() / "run"};
  const TrainReport first = train_network(lenet, settings);
  settings.folder.clear();
  settings.steps = 1;
  settings.run.weights = folder.path() / "run";
  EXPECT_LT(train_network(lenet, settings).first_loss, first.first_loss + 1e-3);
  EXPECT_NE(train_network(lenet, settings).first_loss, first.first_loss);
  settings.run.weights = folder.path();
  expect_error(ErrorKind::usage, "there is no checkpoint", [&] { train_network(lenet, settings); });
  RunSettings frozen = small_run();
  const Measurement whole = measure_network(lenet, {.run = frozen, .warmup_steps = 0, .steps = 1});
  frozen.freeze = "all-but-head";
  EXPECT_LT(measure_network(lenet, {.run = frozen, .warmup_steps = 0, .steps = 1}).cost.flops,
            whole.cost.flops);
  // A file is tuned to other classes than it has.
  const auto file =
      write_onnx(folder, networks::build_model({.network = "lenet", .batch = 4, .training = false}));
  frozen.new_head = true;
  TrainSettings tuning{.run = frozen, .data = "synthetic", .steps = 2, .evaluate = false};
  EXPECT_GT(train_network(Network::from_onnx(file), tuning).first_loss, 0);
}

TEST(Api, AFileThatNamesItsTensorsOtherwiseIsTrainedToo) {
  const TestFolder folder;
  const auto file =
      folder.write("small.onnx", interchange::onnx_file_of(interchange::small_onnx_model("Relu")));
  const Measurement measured =
      measure_network(Network::from_onnx(file), {.run = small_run(), .warmup_steps = 1, .steps = 2});
  EXPECT_EQ(measured.step_seconds.size(), 2u);
  EXPECT_GT(train_network(Network::from_onnx(file), {.run = small_run(), .steps = 2}).first_loss, 0);
}

TEST(Api, AFileWithAForeignOpSaysWhichOne) {
  const TestFolder folder;
  const auto file =
      folder.write("odd.onnx", interchange::onnx_file_of(interchange::small_onnx_model("Floor")));
  expect_error(ErrorKind::unsupported, "'middle' (Floor)", [&] { Network::from_onnx(file); });
  expect_error(ErrorKind::usage, ".onnx", [&] { Network::from_onnx(folder.path() / "model.pb"); });
}

TEST(Api, PredictionsNeedAModelFile) {
  const TestFolder folder;
  expect_error(ErrorKind::config, "model.json", [&] { StepPredictor(folder.write("model.json", "{}")); });
}

TEST(Api, TheBuildIsDescribed) {
  const Build build = describe_build();
  EXPECT_FALSE(build.version.empty());
  EXPECT_FALSE(build.compiler.empty());
  bool known = false;
  for (const LibraryVersion& library : build.libraries)
    known = known || (library.name == "glibc" && !library.version.empty());
  EXPECT_TRUE(known);
}

}  // namespace
}  // namespace trainyard
