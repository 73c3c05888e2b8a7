// Weights come in from files of others and go out into them; trainings go on from them, with frozen layers
// and a new head.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "engine/canonical.h"
#include "run/start_weights.h"
#include "weights/test_state_dict.h"

namespace trainyard::cli_test {
namespace {

constexpr int kAbsent = 77;

class WeightsTest : public CliTest {
 protected:
  Json json_of(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return parse_json(result.out);
  }

  void write(const std::string& name, const HostTensor& tensor) const {
    std::ofstream(work() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
  }

  // Writes what our inference makes of the checkpoint.
  void infer(const std::string& network, const networks::generator::Given& parameters) const {
    run::RunOptions asked;
    asked.network = network;
    asked.parameters = parameters;
    asked.batch = 3;
    asked.mode = "infer";
    asked.weights = work() / "trained";
    asked.threads = 1;
    train::SessionOptions options_of_session = to_session(asked);
    EXPECT_NE(give_weights(asked, options_of_session), "");
    train::Session session(options_of_session);
    engine::initialise_inputs(session.executor(), 5);
    write("input", session.executor().read(session.input_names().inputs));
    session.executor().run({5, 0});
    write("output", session.executor().read(train::Session::kLogits));
  }

  // A second implementation of ONNX's operators makes of the file what our inference makes of the checkpoint.
  void expect_exported_values(const std::string& network,
                              const networks::generator::Given& parameters) const {
    SCOPED_TRACE(network);
    std::string options;
    for (const auto& [name, value] : parameters) options += " --" + name + " " + value;
    ASSERT_EQ(run("train --network " + network + options +
                  " --batch 8 --steps 6 --optimizer adam --threads 1 --no-eval --out trained --overwrite")
                  .exit_code,
              0);
    const CommandResult exported =
        run("networks export " + network + options + " --weights trained --batch 3 --to graph.onnx");
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    // A session keeps its thread on its core.
    std::thread([&] { infer(network, parameters); }).join();
    const std::string command = "tests/scripts/onnx_values.py " + work().string();
    const int status = std::system(command.c_str());
    if (WEXITSTATUS(status) == kAbsent) GTEST_SKIP() << "Python's onnx is absent (Debian: python3-onnx)";
    EXPECT_EQ(status, 0);
  }
};

constexpr const char* kLenet = "train --network lenet --batch 8 --threads 1 --no-eval --json ";

TEST_F(WeightsTest, OfACheckpointGoOutAndComeIn) {
  ASSERT_EQ(run("train --network lenet --batch 8 --steps 12 --threads 1 --no-eval --out base").exit_code, 0);
  const auto loss = json_of(std::string(kLenet) + "--steps 1 --weights base")["first_loss"].get<double>();
  EXPECT_NE(loss, json_of(std::string(kLenet) + "--steps 1")["first_loss"]);
  for (const char* file : {"out.onnx", "out.safetensors"}) {
    SCOPED_TRACE(file);
    ASSERT_EQ(run(fmt::format("networks export lenet --weights base --to {}", file)).exit_code, 0);
    const Json json = json_of(fmt::format("{} --steps 1 --weights {}", kLenet, file));
    EXPECT_EQ(json["first_loss"], loss);
    EXPECT_EQ(json["start"], fmt::format("8 of 8 tensors start from '{}'", file));
    EXPECT_EQ(json["asked"]["weights"], file);
  }
  // An ONNX file is a network too, and its training goes out again.
  ASSERT_EQ(run("train --network out.onnx --batch 8 --steps 3 --threads 1 --no-eval --out tuned").exit_code,
            0);
  ASSERT_EQ(run("networks export out.onnx --weights tuned --to tuned.onnx").exit_code, 0);
  const Json again = json_of("train --network tuned.onnx --batch 8 --steps 1 --threads 1 --no-eval --json");
  EXPECT_EQ(
      again["first_loss"],
      json_of("train --network out.onnx --weights tuned --batch 8 --steps 1 --threads 1 --no-eval --json")
          ["first_loss"]);
}

TEST_F(WeightsTest, ExportedValuesAreThoseOfASecondImplementation) {
  expect_exported_values("lenet", {});
  expect_exported_values("resnet20", {});
  expect_exported_values("rnn", {{"layers", "1"}, {"hidden", "16"}, {"length", "6"}});
}

TEST_F(WeightsTest, FineTuningTrainsTheHeadAlone) {
  ASSERT_EQ(run("train --network lenet --batch 8 --steps 4 --threads 1 --no-eval --out base").exit_code, 0);
  const std::string tuning =
      std::string(kLenet) + "--weights base --freeze all-but-head --classes 10 --out tuned ";
  const Json first = json_of(tuning + "--steps 200 --lr 0.05 --new-head");
  EXPECT_LT(first["final_loss"].get<double>(), first["first_loss"].get<double>());
  EXPECT_EQ(first["frozen_parameters"].get<int>(), first["parameters"].get<int>() - 10 * 513);
  EXPECT_EQ(first["asked"]["freeze"], "all-but-head");
  EXPECT_NE(first["start"].get<std::string>().find("the last layer starts afresh: 'logits/weight'"),
            std::string::npos);
  const Json more = json_of(tuning + "--steps 204 --lr 0.05 --new-head --resume");
  EXPECT_EQ(more["first_loss"], first["first_loss"]);
  EXPECT_EQ(more["final_step"], 204);
  expect_failure(
      "train --network lenet --batch 8 --threads 1 --no-eval --out tuned --steps 210 --lr 0.05 --classes 10 "
      "--weights base --resume --quiet",
      1, "is of another run: freeze all-but-head there, nothing asked");
}

TEST_F(WeightsTest, AnOnnxFileIsTunedToOtherClasses) {
  ASSERT_EQ(run("networks export lenet --weights initial --to lenet.onnx").exit_code, 0);
  const std::string train = "train --network lenet.onnx --batch 8 --threads 1 --no-eval --json ";
  const Json tuned = json_of(train + "--classes 7 --new-head --freeze all-but-head --steps 5 --out tuned");
  EXPECT_NEAR(tuned["first_loss"].get<double>(), std::log(7), 0.3);
  EXPECT_EQ(tuned["parameters"].get<int>() - tuned["frozen_parameters"].get<int>(), 7 * 513);
  EXPECT_EQ(tuned["start"], "the last layer starts afresh: 'logits/bias', 'logits/weight'");
  ASSERT_EQ(run("networks export lenet.onnx --weights tuned --to seven.onnx").exit_code, 0);
  const Json seven = json_of("train --network seven.onnx --batch 8 --threads 1 --no-eval --steps 1 --json");
  EXPECT_EQ(seven["parameters"], tuned["parameters"]);
  expect_failure("train --network lenet.onnx --classes 7", 1,
                 "'lenet.onnx' has 10; --new-head gives it others");
}

TEST_F(WeightsTest, TwoWorkersFineTuneAsOne) {
  ASSERT_EQ(run("train --network lenet --batch 8 --steps 2 --threads 1 --no-eval --out base").exit_code, 0);
  const std::string tuning =
      "train --network lenet --weights base --freeze conv1,conv2 --steps 4 --no-eval --json ";
  const Json two = json_of(tuning + "--batch 4 --workers 2 --collective local");
  EXPECT_NEAR(two["final_loss"].get<double>(), json_of(tuning + "--batch 8")["final_loss"].get<double>(),
              1e-4);
  expect_failure("train --network lenet --freeze conv1 --workers 2 --mode bsp", 1,
                 "--freeze conv1: parameter servers (bsp)");
}

TEST_F(WeightsTest, MistakesAreSaidInOneLine) {
  const std::string lenet = "train --network lenet --steps 1 ";
  expect_failure(lenet + "--freeze conf1", 1, "--freeze 'conf1' (did you mean 'conv1'?)");
  expect_failure(lenet + "--freeze conv1,", 1, "a pattern is empty");
  expect_failure(lenet + "--freeze *", 1, "nothing is left to train");
  expect_failure(lenet + "--partial-weights", 1, "--partial-weights wants --weights");
  expect_failure(lenet + "--weights absent.pt", 1, "absent.pt");
  expect_failure(lenet + "--weights .", 1, "there is no checkpoint in this folder");
  std::ofstream(work() / "small.pt", std::ios::binary) << weights::small_state_dict();
  expect_failure(lenet + "--weights small.pt", 1, "none of its 2 tensors has a name of the network's");
  std::ofstream(work() / "broken.safetensors") << "broken";
  expect_failure(lenet + "--weights broken.safetensors", 1, "'broken.safetensors': is cut short");
  expect_failure(lenet + "--weights weights.h5", 1, "weights.h5");
  const std::string begin(weights::small_state_dict(), 0, 10);
  ASSERT_EQ(run("networks export resnet20 --weights initial --to resnet20.safetensors").exit_code, 0);
  expect_failure(lenet + "--weights resnet20.safetensors", 1, "(--partial-weights allows it)");
  expect_failure("networks export lenet --to lenet.safetensors", 1, "--weights says which");
}

// The test reads files of torch.save without Python.
TEST_F(WeightsTest, OfPytorchAreRead) {
  ASSERT_EQ(run("networks export lenet --weights initial --to lenet.onnx").exit_code, 0);
  const std::string command = "tests/scripts/weights_of_pytorch.py " + work().string();
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == kAbsent)
    GTEST_SKIP() << "PyTorch or onnx is absent (Debian: python3-torch, python3-onnx)";
  ASSERT_EQ(status, 0);
  const auto loss =
      json_of(std::string(kLenet) + "--steps 1 --weights lenet.onnx")["first_loss"].get<double>();
  for (const char* file : {"plain.pt", "training.pth", "double.pt", "half.pt", "bfloat16.pt"}) {
    SCOPED_TRACE(file);
    const auto found =
        json_of(fmt::format("{} --steps 1 --weights {}", kLenet, file))["first_loss"].get<double>();
    EXPECT_NEAR(found, loss, std::string_view(file).starts_with('h') || file[0] == 'b' ? 2e-2 : 1e-12);
  }
  expect_failure("train --network lenet --weights legacy.pt", 1, "before 1.6");
  expect_failure("train --network lenet --weights pickled_optimizer.pt", 1, "names 'torch.optim.sgd.SGD'");
}

}  // namespace
}  // namespace trainyard::cli_test
