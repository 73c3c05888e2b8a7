// Networks of many kinds that PyTorch exports train as they do there: the first losses are its own.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "base/test_folder.h"
#include "graph/autodiff.h"
#include "interchange/onnx_export.h"
#include "interchange/onnx_import.h"
#include "onnx_steps.h"

namespace trainyard::interchange {
namespace {

constexpr const char* kKept = "tests/golden/kept/onnx_coverage";
constexpr int kWithoutPython = 77;
constexpr double kNear = 1e-4;

const char* const kKinds[] = {"alexnet",       "convnext",
                              "densenet",      "efficientnet",
                              "googlenet",     "group_norms",
                              "gru_language",  "gru_language_folded",
                              "gru_rows",      "gru_rows_folded",
                              "lstm_language", "lstm_language_folded",
                              "lstm_rows",     "lstm_rows_folded",
                              "mnasnet",       "mobilenet_v2",
                              "mobilenet_v3",  "regnet",
                              "resnet_basic",  "resnet_bottleneck",
                              "shufflenet_v2", "squeezenet",
                              "swin",          "unet",
                              "unet_bilinear", "vgg",
                              "yolo"};

// Returns what numbers() of tests/scripts/onnx_coverage.py does.
std::vector<std::uint32_t> drawn_numbers(std::int64_t count) {
  std::uint32_t state = 1;
  std::vector<std::uint32_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    state = 1664525u * state + 1013904223u;
    numbers.push_back(state >> 8);
  }
  return numbers;
}

Step read_steps(const std::filesystem::path& file, const networks::NetworkInfo& info) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const Json json = parse_json(text.str());
  Step step{.batch = json["batch"].get<std::int64_t>(),
            .labels = json["labels"].get<std::vector<std::int32_t>>(),
            .losses = json["losses"].get<std::vector<double>>(),
            .rate = json["rate"].get<double>()};
  const std::int64_t length = info.reads_sequences() ? info.input[0] + 1 : info.input.elements();
  for (const std::uint32_t number : drawn_numbers(step.batch * length))
    step.input.push_back(info.reads_sequences() ? number % static_cast<std::uint32_t>(info.classes)
                                                : number / 8388608.0 - 1);
  return step;
}

void expect_losses_of_pytorch(const std::filesystem::path& folder, const std::string& name) {
  SCOPED_TRACE(name);
  const auto file = read_trainable(folder / (name + ".onnx"));
  EXPECT_EQ(file->note.find("random"), std::string::npos) << file->note;
  const Step step = read_steps(folder / (name + ".json"), file->info);
  train::SessionOptions options{.model = {.network = name, .batch = step.batch, .imported = file->build}};
  options.update.schedule.rate = step.rate;
  options.threads = 1;
  train::Session session(options);
  write_samples(session, file->info, step);
  ASSERT_EQ(step.losses.size(), 6u);
  for (std::size_t i = 0; i < step.losses.size(); ++i) {
    session.executor().run({1, static_cast<std::int64_t>(i)});
    EXPECT_NEAR(session.loss(), step.losses[i], kNear * step.losses[i]) << "step " << i;
  }
  EXPECT_LT(step.losses.back(), 0.995 * step.losses.front());
}

class OnnxCoverage : public testing::TestWithParam<std::string> {};

TEST_P(OnnxCoverage, StepsHaveTheLossesOfPytorch) { expect_losses_of_pytorch(kKept, GetParam()); }

// What becomes ours can be written again, and read.
TEST_P(OnnxCoverage, IsExportedAndReadAgain) {
  const auto file = read_trainable(std::filesystem::path(kKept) / (GetParam() + ".onnx"));
  const graph::Graph graph = file->build(2, false);
  std::string bytes;
  export_onnx(graph, graph.outputs().at(0), {.name = GetParam()},
              [&](std::string_view part) { bytes += part; });
  const OnnxNetwork again =
      import_onnx(onnx::read_model(bytes, "again"), {.batch = 2, .training = false}, "again");
  ASSERT_TRUE(again.obstacles.empty()) << again.obstacles[0].first_node << ": " << again.obstacles[0].reason;
  graph::verify(again.graph);
  EXPECT_EQ(again.graph.shape(again.graph.outputs().at(0)), graph.shape(graph.outputs().at(0)));
  EXPECT_EQ(graph::total_cost(again.graph).flops, graph::total_cost(graph).flops);
}

INSTANTIATE_TEST_SUITE_P(Kept, OnnxCoverage,
                         testing::ValuesIn(std::vector<std::string>(std::begin(kKinds), std::end(kKinds))),
                         [](const testing::TestParamInfo<std::string>& network) { return network.param; });

// Older and newer sets write norms, units, slices and sizes otherwise.
TEST(OnnxCoverageOfSets, StepsHaveTheLossesOfPytorch) {
  for (const char* set : {"12", "17"}) {
    SCOPED_TRACE(set);
    const TestFolder folder;
    const std::string command =
        "tests/scripts/onnx_coverage.py " + folder.path().string() + " --set " + set + " > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    if (WEXITSTATUS(status) == kWithoutPython) GTEST_SKIP() << "PyTorch is absent (Debian: python3-torch)";
    ASSERT_EQ(status, 0);
    for (const char* name : kKinds) expect_losses_of_pytorch(folder.path(), name);
  }
}

}  // namespace
}  // namespace trainyard::interchange
