// Graphs of networks go out to files and come in again.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "interchange/test_models.h"

namespace trainyard::cli_test {
namespace {

namespace onnx = interchange::onnx;

class NetworksTest : public CliTest {
 protected:
  Json json_of(const std::string& arguments) const {
    const CommandResult result = run(arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
  void write(const char* name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }
};

TEST_F(NetworksTest, AnExportedNetworkIsImportedWithItsCosts) {
  const Json network = json_of("networks resnet20");
  const Json exported = json_of("networks export resnet20 --to resnet20.onnx --weights initial");
  EXPECT_EQ(exported["weights"], "initial");
  EXPECT_GT(exported["bytes"], 4 * network["parameters"].get<std::int64_t>());
  const Json imported = json_of("networks import resnet20.onnx");
  EXPECT_EQ(imported["parameters"], network["parameters"]);
  EXPECT_EQ(imported["flops"], network["forward_flops_per_image"]);
  EXPECT_EQ(imported["training_flops"], network["training_flops_per_image"]);
  EXPECT_TRUE(imported["trainable"].get<bool>());
  EXPECT_EQ(json_of("networks features resnet20.onnx")["nodes"].size(), imported["ops"]);
}

TEST_F(NetworksTest, WeightsOfACheckpoint) {
  ASSERT_EQ(run("train --network lenet --data synthetic --batch 2 --optimizer sgd --steps 2 --no-eval --out "
                "run --quiet")
                .exit_code,
            0);
  ASSERT_EQ(run("networks export lenet --to trained.onnx --weights run").exit_code, 0);
  // The file holds the bytes that the checkpoint does.
  const auto bytes = [&](const std::filesystem::path& name) {
    std::ifstream file(work() / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string file = bytes("trained.onnx"), stored = bytes("run/step-00000002/tensors.bin");
  const onnx::Model model = onnx::read_model(file, "test");
  std::size_t found = 0;
  for (const onnx::Tensor& tensor : model.initializers)
    if (tensor.doc == "parameter" && stored.find(tensor.raw) != std::string::npos) ++found;
  EXPECT_EQ(found, 8u);  // weights and biases of two convolutions and two dense layers
  EXPECT_TRUE(json_of("networks import trained.onnx")["trainable"].get<bool>());
  expect_failure("networks export deepmnist --to x.onnx --weights run", 1, "is of network 'lenet'");
  std::fstream tensors(work() / "run" / "step-00000002" / "tensors.bin",
                       std::ios::in | std::ios::out | std::ios::binary);
  tensors << "damage";
  tensors.close();
  expect_failure("networks export lenet --to x.onnx --weights run", 1, "checksum");
  EXPECT_FALSE(std::filesystem::exists(work() / "x.onnx"));
}

TEST_F(NetworksTest, AFileOfANetworkIsTrainedFromItsWeights) {
  const auto first_loss = [&](const std::string& network) {
    return json_of("train --network " + network +
                   " --data synthetic --batch 16 --preprocess unit --optimizer sgd --steps 1 --no-eval")
        ["first_loss"]
            .get<double>();
  };
  ASSERT_EQ(run("networks export lenet --to trained.onnx --weights initial").exit_code, 0);
  const double own = first_loss("lenet");
  EXPECT_NEAR(first_loss("trained.onnx"), own, 1e-5 * own);
  ASSERT_EQ(run("networks export lenet --to empty.onnx").exit_code, 0);
  const CommandResult empty =
      run("train --network empty.onnx --data synthetic --batch 2 --steps 1 --no-eval");
  EXPECT_EQ(empty.exit_code, 0) << empty.err;
  EXPECT_NE(empty.err.find("has no weights"), std::string::npos) << empty.err;
  EXPECT_GT(std::abs(first_loss("empty.onnx") - own), 1e-3);
  EXPECT_EQ(json_of("bench --network trained.onnx --batch 4 --steps 2 --warmup 1")["parameters"],
            json_of("networks lenet")["parameters"]);
  expect_failure("train --network missing.onnx --steps 1", 1, "missing.onnx");
  expect_failure("train --network trained.onnx --classes 7 --steps 1", 1,
                 "--classes 7: network 'trained.onnx' has 10");
}

TEST_F(NetworksTest, AFileOfALanguageModelSaysWhatWasRecognisedAndLearnsALanguage) {
  std::filesystem::copy_file("tests/golden/kept/onnx/gpt.onnx", work() / "gpt.onnx");
  const Json imported = json_of("networks import gpt.onnx");
  EXPECT_EQ(imported["recognised"]["attention"], 2);
  EXPECT_EQ(imported["recognised"]["layer norm"], 5);
  EXPECT_EQ(imported["foreign_ops"], 0);
  EXPECT_EQ(imported["weights_left_out"], 0);
  const CommandResult text = run("networks import gpt.onnx");
  EXPECT_NE(text.out.find("2 attention"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("becomes"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("part of what was recognised"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("possible"), std::string::npos) << text.out;
  const Json trained =
      json_of("train --network gpt.onnx --data language:1 --batch 16 --optimizer adam --lr 0.01 --steps 60");
  EXPECT_LT(trained["final_loss"].get<double>(), trained["first_loss"].get<double>() - 0.3);
  EXPECT_GT(trained["tokens_per_second"].get<double>(), 0);
  EXPECT_GT(json_of("bench --network gpt.onnx --batch 4 --steps 2 --warmup 1")["tokens_per_second"], 0);
  expect_failure("train --network gpt.onnx --vocabulary 50 --data language:1 --steps 1", 1,
                 "--vocabulary 50");
  expect_failure("train --network gpt.onnx --data synthetic --classes 4 --steps 1", 1, "--classes 4");
}

TEST_F(NetworksTest, WhatPreventsTrainingIsSaid) {
  write("floor.onnx", interchange::onnx_file_of(interchange::small_onnx_model("Floor")));
  const CommandResult text = run("networks import floor.onnx");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("not possible"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Floor"), std::string::npos) << text.out;
  const Json json = json_of("networks import floor.onnx");
  EXPECT_FALSE(json["trainable"].get<bool>());
  EXPECT_EQ(json["obstacles"][0]["op"], "Floor");
  for (const Json& row : json["coverage"]) EXPECT_EQ(row["ours"], row["op"] != "Floor") << row;
  EXPECT_EQ(json["coverage"].size(), 4u);
}

TEST_F(NetworksTest, FeaturesOfATensorflowGraph) {
  write("graph.pbtxt", interchange::small_graph_def());
  write("ops.csv", "Operation,Frequency\nConv2D,0.75\nRelu,0.25\n");
  const Json json = json_of("networks features graph.pbtxt --legacy --devices gpu --groups 2 --ops ops.csv");
  EXPECT_EQ(json["kept_ops"], 6);
  EXPECT_EQ(json["unknown_ops"], 4);
  EXPECT_EQ(json["features"].size(), 2u);
  const double frequencies = json["features"][0][2].get<double>() + json["features"][1][2].get<double>();
  EXPECT_DOUBLE_EQ(frequencies, 1.0);
}

TEST_F(NetworksTest, ThoseThatFindObjectsHaveTheirOwnData) {
  const Json network = json_of("networks retinanet");
  EXPECT_EQ(network["parameters"], 37'968'692);
  EXPECT_EQ(network["forward_ops"]["anchor_rows"], 2);
  EXPECT_EQ(network["forward_ops"]["upsample"], 2);
  const CommandResult plan = run("explain retinanet --batch 1");
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  for (const char* node : {"match_anchors", "focal_loss_grad", "box_loss_grad", "upsample_d_src"})
    EXPECT_NE(plan.out.find(node), std::string::npos) << node;
  expect_failure("train --network retinanet --data language:1 --steps 1", 1,
                 "network 'retinanet' finds boxes in images, and data set 'language:1' has tokens");
  expect_failure("networks export retinanet --to x.onnx", 1, "op anchor_rows of node 'logits'");
}

TEST_F(NetworksTest, MistakesAreOneLine) {
  expect_failure("networks resnet50 --bogus", 1, "--bogus");
  expect_failure("networks import nothing.onnx", 1, "nothing.onnx");
  write("cut.onnx", interchange::onnx_file_of(interchange::small_onnx_model("Relu")).substr(0, 100));
  expect_failure("networks import cut.onnx", 1, "'cut.onnx': broken off");
  expect_failure("networks import file.bin", 1, "ends with .onnx, .pb, .pbtxt, .dot or .gv");
  expect_failure("networks export lenet --to lenet.pbtxt", 1, "ends with .onnx, .safetensors, .dot or .gv");
  expect_failure("networks export lenet --to x.onnx --step training", 1, "holds the forward pass");
  expect_failure("networks features lenet --step sideways", 1, "--step");
  expect_failure("networks stats lent", 1, "did you mean 'lenet'");
}

}  // namespace
}  // namespace trainyard::cli_test
