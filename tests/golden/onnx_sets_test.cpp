// One small network in the sets of operators from 9 to the newest, and with its batch said in several ways,
// is one network.

#include <sys/wait.h>

#include <cstdlib>

#include "base/test_folder.h"
#include "onnx_steps.h"

namespace trainyard::interchange {
namespace {

constexpr const char* kKeptSets = "tests/golden/kept/onnx_sets";
constexpr int kNoPythonsOnnx = 77;
constexpr double kSameLoss = 1e-6;

// The losses of some steps on the same samples, which other operators would change.
std::vector<double> losses_of(const std::filesystem::path& file, std::int64_t batch) {
  SCOPED_TRACE(file.string());
  const auto network = read_trainable(file);
  EXPECT_EQ(network->obstacle, "");
  EXPECT_EQ(network->info.classes, 5);
  EXPECT_EQ(network->info.input, (Shape{2, 8, 8}));
  Step step{.batch = batch};
  for (std::int64_t i = 0; i < batch * network->info.input.elements(); ++i)
    step.input.push_back(static_cast<double>(i % 23) / 11 - 1);
  for (std::int64_t i = 0; i < batch; ++i) step.labels.push_back(static_cast<std::int32_t>(i % 5));
  train::SessionOptions options{
      .model = {.network = file.stem().string(), .batch = batch, .imported = network->build}};
  options.update.schedule.rate = step.rate;
  options.threads = 1;
  train::Session session(options);
  write_samples(session, network->info, step);
  std::vector<double> losses;
  for (std::int64_t i = 0; i < 3; ++i) {
    session.executor().run({1, i});
    losses.push_back(session.loss());
  }
  return losses;
}

void expect_one_network(const std::filesystem::path& folder) {
  for (const std::int64_t batch : {1, 4, 6}) {
    SCOPED_TRACE(batch);
    const std::vector<double> expected = losses_of(folder / "set_13.onnx", batch);
    EXPECT_LT(expected[2], expected[0]);
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::vector<double> losses = losses_of(entry.path(), batch);
      for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], expected[i], kSameLoss * expected[i]) << entry.path() << ", step " << i;
      ++files;
    }
    EXPECT_GE(files, 8);
  }
}

TEST(OnnxSets, From9To17AreOneNetwork) { expect_one_network(kKeptSets); }

TEST(OnnxSets, OfPythonsOnnxUpToItsNewestAreOneNetwork) {
  const TestFolder folder;
  const std::string command = "tests/scripts/onnx_sets.py " + folder.path().string() + " > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == kNoPythonsOnnx) GTEST_SKIP() << "Python's onnx is absent (Debian: python3-onnx)";
  ASSERT_EQ(status, 0);
  expect_one_network(folder.path());
}

}  // namespace
}  // namespace trainyard::interchange
