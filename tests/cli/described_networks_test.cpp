// Networks that a YAML file describes by layers, in the commands that take a network.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"

namespace trainyard::cli_test {
namespace {

class DescribedNetworks : public CliTest {
 protected:
  DescribedNetworks() {
    for (const char* name : {"lenet", "resnet", "text", "unet"})
      std::filesystem::copy_file(std::string("examples/networks/") + name + ".yaml",
                                 work() / (std::string(name) + ".yaml"));
  }
  Json json_of(const std::string& arguments) const {
    const CommandResult result = run(arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json::object();
  }
  void write(const char* name, const std::string& content) const { std::ofstream(work() / name) << content; }
};

TEST_F(DescribedNetworks, HaveTheBitsOfTheZoo) {
  const auto losses = [&](const std::string& network) {
    const Json run = json_of("train --network " + network +
                             " --data synthetic --batch 4 --steps 2 --threads 1 --seed 7 --no-eval");
    return std::pair(run["first_loss"].get<double>(), run["final_loss"].get<double>());
  };
  EXPECT_EQ(losses("lenet.yaml"), losses("lenet"));
  EXPECT_EQ(losses("resnet.yaml"), losses("resnet20"));
}

TEST_F(DescribedNetworks, ExamplesTrainAndAreMeasured) {
  for (const char* network : {"resnet", "unet"})
    EXPECT_GT(json_of(std::string("train --data synthetic --batch 4 --steps 3 --no-eval --network ") +
                      network + ".yaml --parameter width=8")["first_loss"],
              0);
  const Json text = json_of(
      "train --network text.yaml --data language:1 --layers 1 --width 32 --length 16 "
      "--batch 16 --optimizer adam --lr 0.01 --steps 60 --no-eval");
  EXPECT_LT(text["final_loss"], text["first_loss"]);
  EXPECT_GT(
      json_of("bench --network text.yaml --batch 2 --steps 2 --warmup 1 --length 16")["tokens_per_second"],
      0);
  EXPECT_GT(json_of("bench --network unet.yaml --mode infer --batch 2 --steps 2 --warmup 1")["parameters"],
            0);
  const CommandResult explained = run("explain unet.yaml --batch 2");
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_NE(explained.out.find("excite/of_pixels"), std::string::npos) << explained.out;
}

TEST_F(DescribedNetworks, AreDescribedImportedAndExported) {
  const Json own = json_of("networks lenet"), described = json_of("networks lenet.yaml"),
             imported = json_of("networks import lenet.yaml");
  for (const char* key :
       {"parameters", "forward_flops_per_image", "training_flops_per_image", "saved_bytes_per_image"})
    EXPECT_EQ(described[key], own[key]) << key;
  EXPECT_EQ(imported["format"], "YAML layers");
  EXPECT_EQ(imported["parameters"], own["parameters"]);
  EXPECT_EQ(imported["flops"], own["forward_flops_per_image"]);
  EXPECT_EQ(imported["training_flops"], own["training_flops_per_image"]);
  EXPECT_TRUE(imported["trainable"].get<bool>());
  const CommandResult table = run("networks import unet.yaml");
  EXPECT_NE(table.out.find("training             possible: "), std::string::npos) << table.out << table.err;
  ASSERT_EQ(run("networks export unet.yaml --weights initial --to unet.onnx").exit_code, 0);
  const std::string train = " --data synthetic --batch 4 --steps 1 --threads 1 --no-eval";
  const auto loss = json_of("train --network unet.yaml" + train)["first_loss"].get<double>();
  EXPECT_NEAR(json_of("train --network unet.onnx" + train)["first_loss"].get<double>(), loss, 0.2 * loss);
  EXPECT_EQ(json_of("networks import unet.onnx")["parameters"], json_of("networks unet.yaml")["parameters"]);
  EXPECT_EQ(json_of("networks features unet.yaml")["nodes"].size(),
            json_of("networks stats unet.yaml")["total"].get<std::size_t>());
  EXPECT_NE(run("networks schema").out.find("\"transposed_conv\""), std::string::npos);
}

TEST_F(DescribedNetworks, GoOnAndGiveTheirWeights) {
  const std::string train =
      "train --network resnet.yaml --parameter width=8 --data synthetic --batch 4 --threads 1 "
      "--no-eval --optimizer momentum --quiet ";
  ASSERT_EQ(run(train + "--steps 2 --out run").exit_code, 0);
  ASSERT_EQ(run(train + "--steps 4 --out run --resume").exit_code, 0);
  const Json whole = json_of(train + "--steps 4 --out whole");
  const auto tensors_of = [&](const char* folder) {
    std::ifstream file(work() / folder / "step-00000004" / "tensors.bin", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_FALSE(tensors_of("whole").empty());
  EXPECT_TRUE(tensors_of("run") == tensors_of("whole"));
  expect_failure(
      "train --network resnet.yaml --parameter width=9 --data synthetic --batch 4 --threads 1 --no-eval "
      "--optimizer momentum --steps 6 --out run --resume --quiet",
      1, "width 8 there, 9 asked");
  // The parameters of a checkpoint are those of its training.
  ASSERT_EQ(run("networks export resnet.yaml --weights run --to out.safetensors").exit_code, 0);
  ASSERT_EQ(run("networks export resnet.yaml --weights run --to out.onnx").exit_code, 0);
  EXPECT_EQ(json_of("networks import out.onnx")["parameters"], whole["parameters"]);
  const auto from_checkpoint = json_of(train + "--steps 1 --weights run")["first_loss"].get<double>();
  EXPECT_EQ(json_of(train + "--steps 1 --weights out.safetensors")["first_loss"], from_checkpoint);
  const Json tuned = json_of(train + "--steps 1 --weights out.safetensors --classes 3 --freeze all-but-head");
  EXPECT_NE(tuned["start"].get<std::string>().find("starts afresh: 'logits/weight', 'logits/bias'"),
            std::string::npos);
}

TEST_F(DescribedNetworks, MakeText) {
  std::string book;
  for (int i = 0; i < 60; ++i) book += i % 3 == 0 ? "aab" : i % 5 == 0 ? "bbba" : "ab";
  write("book.txt", book);
  for (const char* positions : {"positions", "attention: {heads: 2, rotary: yes}"}) {
    write("small.yaml",
          std::string("input: {length: 16, vocabulary: 256}\nlayers: [embedding: {name: e, width: 16, "
                      "deviation: 0.02}, ") +
              positions +
              ", residual: [rms_norm, attention: {heads: 4, kv_heads: 2}], rms_norm, logits: {tied: e}]\n");
    std::filesystem::remove_all(work() / "run");
    ASSERT_EQ(run("train --network small.yaml --data text:book.txt --batch 4 --optimizer adam --lr 0.01 "
                  "--steps 40 --threads 1 --no-eval --quiet "
                  "--out run")
                  .exit_code,
              0);
    const auto text_behind = [&](const std::string& prompt, int tokens) {
      return json_of(fmt::format("sample run --prompt {} --tokens {} --temperature 0 --threads 1", prompt,
                                 tokens))["text"]
          .get<std::string>();
    };
    // Tokens that were made one by one are a prompt like any other.
    const std::string made = text_behind("aab", 10);
    ASSERT_EQ(made.size(), 10u) << made;
    EXPECT_EQ(text_behind("aab" + made.substr(0, 5), 5), made.substr(5)) << positions;
  }
  EXPECT_GT(json_of("bench --network text.yaml --mode decode --batch 2 --steps 2 --warmup 1 --new-tokens 4")
                ["median_first_token_seconds"],
            0);
}

TEST_F(DescribedNetworks, WorkersTrainTheSameNetwork) {
  const std::string train =
      "train --network text.yaml --parameter layers=1 --width 16 --length 8 --data language:1 "
      "--batch 4 --steps 3 --threads 2 --no-eval --quiet ";
  const Json two = json_of(train + "--workers 2 --collective local --out two");
  const Json towers = json_of(train + "--devices 2 --strategy towers-device --scaling weak");
  EXPECT_EQ(two["parameters"], towers["parameters"]);
  EXPECT_EQ(two["final_loss"], towers["final_loss"]);
  EXPECT_GT(json_of(train + "--workers 2 --servers 1 --mode bsp")["final_loss"], 0);
}

TEST_F(DescribedNetworks, MistakesAreOneLine) {
  write("net.yml",
        "input: {height: 8, width: 8, channels: 3}\nclasses: 4\nlayers:\n  - convolution: 8\n  - logits\n");
  for (const char* command :
       {"train --network net.yml --data synthetic", "bench --network net.yml", "explain net.yml",
        "networks net.yml", "networks import net.yml", "networks export net.yml --to net.onnx"})
    expect_failure(command, 1, "net.yml:4:5: unknown layer 'convolution'");
  expect_failure("train --network none.yaml --data synthetic", 1, "none.yaml");
  expect_failure("bench --network lenet.yaml --width 3", 1,
                 "--width 3: network 'lenet.yaml' has sizes of its own");
  expect_failure("bench --network resnet.yaml --parameter depth=0", 1,
                 "--depth 0: network 'resnet.yaml' takes a whole number from 1 to 200");
  expect_failure("bench --network resnet.yaml --parameter depth", 1,
                 "--parameter depth: NAME=VALUE expected");
  expect_failure("train --network lenet.yaml --data synthetic --preprocess none", 1, "none");
  expect_failure("train --network text.yaml --data language:1 --classes 3 --steps 1 --quiet", 1,
                 "classes 3: network 'text.yaml' has those of its vocabulary");
  write("cells.yaml", "input: {length: 8, vocabulary: 256}\nlayers: [embedding: 8, lstm: 8, logits]\n");
  expect_failure("bench --network cells.yaml --mode decode --prompt-tokens 3 --new-tokens 3", 1,
                 "cells.yaml:2:24: layer 'lstm1': its state is not kept");
}

}  // namespace
}  // namespace trainyard::cli_test
