// Networks that PyTorch exports are recognised, have PyTorch's loss from the weights in the file, and train.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "base/test_folder.h"
#include "interchange/onnx_import.h"
#include "interchange/read_graph.h"
#include "onnx_steps.h"

namespace trainyard::interchange {
namespace {

constexpr int kNoPython = 77;
const char* const kNetworks[] = {"gpt", "gpt_of_layers", "bert", "llama", "vit", "vit_pooled"};

Step read_step(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const Json json = parse_json(text.str());
  return {.batch = json["batch"].get<std::int64_t>(),
          .input = json["input"].get<std::vector<double>>(),
          .labels = json["labels"].get<std::vector<std::int32_t>>(),
          .losses = {json["loss"].get<double>()}};
}

void expect_loss_of_pytorch(const std::filesystem::path& folder, const std::string& name) {
  SCOPED_TRACE(name);
  const Step step = read_step(folder / (name + ".json"));
  const auto file = read_trainable(folder / (name + ".onnx"));
  EXPECT_NE(file->note.find("starts from the"), std::string::npos) << file->note;
  EXPECT_EQ(file->note.find("random"), std::string::npos) << file->note;
  EXPECT_EQ(file->info.masked, name == "bert") << "only its steps see those behind them";
  train::SessionOptions options{.model = {.network = name, .batch = step.batch, .imported = file->build}};
  options.update.schedule.rate = 0.1;
  options.threads = 1;
  train::Session session(options);
  write_samples(session, file->info, step);
  session.executor().run({1, 0});
  EXPECT_NEAR(session.loss(), step.losses[0], 1e-4 * step.losses[0]);
  for (std::int64_t i = 1; i < 30; ++i) session.executor().run({1, i});
  EXPECT_LT(session.loss(), 0.8 * step.losses[0]);
}

TEST(OnnxNetworks, OfPytorchHaveItsLossAndTrain) {
  for (const char* name : kNetworks) expect_loss_of_pytorch("tests/golden/kept/onnx", name);
}

// Sizes and options of export change how the ops are written.
TEST(OnnxNetworks, OfEverySetOfOperators) {
  for (const char* set : {"13", "15", "17"}) {
    SCOPED_TRACE(set);
    const TestFolder folder;
    const std::string command =
        "tests/scripts/onnx_pytorch.py " + folder.path().string() + " " + set + " > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    if (WEXITSTATUS(status) == kNoPython) GTEST_SKIP() << "PyTorch is absent (Debian: python3-torch)";
    ASSERT_EQ(status, 0);
    for (const char* name : kNetworks) expect_loss_of_pytorch(folder.path(), name);
  }
}

std::map<std::string, std::int64_t> ops_of(const graph::Graph& graph) {
  std::map<std::string, std::int64_t> count;
  for (const graph::Node& node : graph.nodes()) ++count[node.op->name];
  return count;
}

// Nodes that were not fused would be seen in the ops.
TEST(OnnxNetworks, AreMadeOfOurOps) {
  const auto ops = [](const char* name) {
    return ops_of(read_trainable(fmt::format("tests/golden/kept/onnx/{}.onnx", name))->build(2, true));
  };
  using Ops = std::map<std::string, std::int64_t>;
  EXPECT_EQ(ops("gpt"), (Ops{{"slice", 1},
                             {"embedding", 1},
                             {"reshape", 1},
                             {"add_positions", 1},
                             {"layer_norm", 5},
                             {"dense", 9},
                             {"attention", 2},
                             {"smooth_unit", 2},
                             {"add", 4}}));
  const Ops layers = ops("gpt_of_layers"), bert = ops("bert"), llama = ops("llama"), vit = ops("vit");
  EXPECT_EQ(layers.at("attention"), 2);
  EXPECT_FALSE(layers.contains("permute"));
  EXPECT_EQ(bert.at("attention"), 2);
  EXPECT_EQ(bert.at("dense"), 13);
  EXPECT_EQ(bert.at("concat"), 2);
  EXPECT_EQ(llama.at("rotary"), 2);
  EXPECT_EQ(llama.at("attention"), 2);
  EXPECT_EQ(llama.at("layer_norm"), 5);
  EXPECT_EQ(vit.at("attention"), 2);
  EXPECT_EQ(vit.at("smooth_unit"), 2);
  for (const Ops& all : {layers, bert, llama, vit}) {
    EXPECT_FALSE(all.contains("softmax"));
    EXPECT_FALSE(all.contains("matmul"));
  }
}

}  // namespace
}  // namespace trainyard::interchange
