#include "engine/checkpoint.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_folder.h"
#include "engine/canonical.h"
#include "train/session/session.h"

namespace trainyard::engine {
namespace {

namespace fs = std::filesystem;

// resnet20 has statistics, momentum gives state, and 3 and 10 channels give blocked layouts with padding.
train::SessionOptions options_for(const std::string& backend, const std::string& network = "resnet20") {
  train::SessionOptions options;
  options.model = {.network = network, .batch = 2};
  options.update.rule = ops::Rule::momentum;
  options.backend = backend;
  options.seed = 11;
  return options;
}

const CheckpointHeader kHeader{"resnet20", 7, 11, 1.5f, {{"batch", "2"}}};

std::string persistent_content(const Executor& executor) {
  std::string content;
  for (const plan::Buffer& buffer : executor.plan().buffers) {
    if (buffer.region != plan::Region::parameters && buffer.region != plan::Region::statistics &&
        buffer.region != plan::Region::optimizer_state)
      continue;
    const HostTensor tensor = executor.read(buffer.name);
    content.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  return content;
}

void flip_byte(const fs::path& path, std::int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

TEST(Checkpoint, MovesBetweenBackendsBitByBit) {
  const TestFolder folder;
  train::Session first(options_for("auto"));
  initialise_inputs(first.executor(), 1);
  first.executor().run({11, 0});
  const fs::path saved = save_checkpoint(first.executor(), kHeader, {folder.path()});
  EXPECT_EQ(saved.filename(), "step-00000007");
  train::Session second(options_for("reference"));
  const CheckpointHeader got = load_checkpoint(saved, kHeader, second.executor());
  EXPECT_EQ(got.step, 7);
  EXPECT_EQ(got.first_loss, 1.5f);
  const fs::path again = save_checkpoint(second.executor(), kHeader, {folder.path() / "again"});
  EXPECT_EQ(read_file(saved / "tensors.bin"), read_file(again / "tensors.bin"));
  EXPECT_EQ(read_file(saved / "manifest.json"), read_file(again / "manifest.json"));
  train::Session third(options_for("auto"));
  load_checkpoint(again, kHeader, third.executor());
  EXPECT_EQ(persistent_content(third.executor()), persistent_content(first.executor()));
}

TEST(Checkpoint, DamageIsNamedInOneLine) {
  const TestFolder folder;
  train::Session session(options_for("reference"));
  const auto load = [&](const fs::path& from) { load_checkpoint(from, kHeader, session.executor()); };
  const auto fresh = [&] {
    fs::remove_all(folder.path() / "step-00000007");
    return save_checkpoint(session.executor(), kHeader, {folder.path()});
  };
  fs::path saved = fresh();
  const auto bytes = static_cast<std::int64_t>(fs::file_size(saved / "tensors.bin"));
  flip_byte(saved / "tensors.bin", bytes - 5);
  expect_error(ErrorKind::config, "tensors.bin' is damaged: checksum mismatch in tensor '",
               [&] { load(saved); });
  saved = fresh();
  fs::resize_file(saved / "tensors.bin", static_cast<std::uintmax_t>(bytes - 1));
  expect_error(ErrorKind::config, "tensors.bin' is truncated: ", [&] { load(saved); });
  saved = fresh();
  flip_byte(saved / "manifest.json", 300);
  expect_error(ErrorKind::config, "manifest.json' is damaged: ", [&] { load(saved); });
  saved = fresh();
  fs::remove(saved / "tensors.bin");
  expect_error(ErrorKind::config, "cannot read '", [&] { load(saved); });
  saved = fresh();
  fs::remove(saved / "manifest.json");
  expect_error(ErrorKind::config, "manifest.json': No such file", [&] { load(saved); });
}

TEST(Checkpoint, AnotherRunOrNetworkIsRefused) {
  const TestFolder folder;
  train::Session session(options_for("reference"));
  const fs::path saved = save_checkpoint(session.executor(), kHeader, {folder.path()});
  CheckpointHeader other = kHeader;
  other.network = "lenet";
  other.seed = 12;
  other.asked = {{"batch", "4"}, {"data", "mnist"}};
  expect_error(ErrorKind::config,
               "network resnet20 there, lenet asked; seed 11 there, 12 asked; batch 2 there, 4 asked; data "
               "nothing there, mnist asked",
               [&] { load_checkpoint(saved, other, session.executor()); });
  train::Session lenet(options_for("reference", "lenet"));
  expect_error(ErrorKind::config, "is missing", [&] { load_checkpoint(saved, kHeader, lenet.executor()); });
}

TEST(Checkpoint, OldOnesAndLeftoversGo) {
  const TestFolder folder;
  train::Session session(options_for("reference"));
  fs::create_directories(folder.path() / ".step-00000001.part-99");
  folder.write(".step-00000001.part-99/tensors.bin", "half");
  fs::create_directories(folder.path() / "step-by-step");
  CheckpointHeader header = kHeader;
  for (const std::int64_t step : {1, 20, 3, 123'456'789}) {
    header.step = step;
    save_checkpoint(session.executor(), header, {folder.path(), 3});
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{"step-00000003", "step-00000020", "step-123456789", "step-by-step"}));
  EXPECT_EQ(latest_checkpoint(folder.path())->filename(), "step-123456789");
  EXPECT_FALSE(latest_checkpoint(folder.path() / "absent").has_value());
}

TEST(Checkpoint, FailureLeavesNothing) {
  const TestFolder folder;
  train::Session session(options_for("reference"));
  const fs::path blocked = folder.write("file", "");
  expect_error(ErrorKind::io, "cannot make folder",
               [&] { save_checkpoint(session.executor(), kHeader, {blocked / "run"}); });
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace trainyard::engine
