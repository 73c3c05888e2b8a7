#include "backend/cuda/runtime/tuning.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/test_folder.h"

namespace trainyard::backend::cuda {
namespace {

std::size_t lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(stream, line);) ++lines;
  return lines;
}

TEST(Tuning, RemembersAcrossProcesses) {
  const TestFolder folder;
  const auto file = folder.path() / "new" / "gpu.jsonl";
  Tuning(file).put("conv", {"engine 5", "5 2=1", 1.5e-5, {{"engine 7", "slower: 20 us"}}});
  const Tuning again(file);
  const Tuned* found = again.find("conv");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "engine 5");
  EXPECT_EQ(found->choice, "5 2=1");
  EXPECT_EQ(found->seconds, 1.5e-5);
  ASSERT_EQ(found->slower.size(), 1u);
  EXPECT_EQ(found->slower[0].name, "engine 7");
  EXPECT_EQ(found->slower[0].reason, "slower: 20 us");
  EXPECT_EQ(again.find("other"), nullptr);
}

TEST(Tuning, WhatLittleEffortFoundIsKeptApart) {
  const TestFolder folder;
  const auto file = folder.path() / "gpu.jsonl";
  Tuning(file, Effort::quick).put("conv", {"engine 5", "5", 2e-5, {}});
  EXPECT_EQ(Tuning(file).find("conv"), nullptr);
  Tuning(file).put("conv", {"engine 7", "7", 1e-5, {}});
  EXPECT_EQ(Tuning(file).find("conv")->name, "engine 7");
  EXPECT_EQ(Tuning(file, Effort::quick).find("conv")->name, "engine 5");
}

TEST(Tuning, TheLastOfOneKeyCounts) {
  const TestFolder folder;
  const auto file = folder.path() / "gpu.jsonl";
  Tuning tuning(file);
  tuning.put("conv", {"a", "1", 1, {}});
  tuning.put("conv", {"b", "2", 1, {}});
  EXPECT_EQ(tuning.find("conv")->choice, "2");
  EXPECT_EQ(Tuning(file).find("conv")->choice, "2");
}

TEST(Tuning, PassesOverWhatCannotBeRead) {
  const TestFolder folder;
  const auto file = folder.path() / "gpu.jsonl";
  Tuning(file).put("conv", {"a", "1", 1, {}});
  std::ofstream(file, std::ios::app) << "no JSON\n{\"key\":3}\n{\"key\":\"torn";
  const Tuning after(file);
  ASSERT_NE(after.find("conv"), nullptr);
  EXPECT_EQ(after.find("torn"), nullptr);
  Tuning(file).put("next", {"b", "2", 1, {}});  // not behind the torn one, on its line
  EXPECT_NE(Tuning(file).find("next"), nullptr);
  EXPECT_NE(Tuning(file).find("conv"), nullptr);
}

TEST(Tuning, SeveralMayAddAtOnce) {
  const TestFolder folder;
  const auto file = folder.path() / "gpu.jsonl";
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&file, w] {
      for (int i = 0; i < 50; ++i)
        Tuning(file).put(std::to_string(w) + " " + std::to_string(i), {"a", "1", 1, {}});
    });
  for (std::thread& writer : writers) writer.join();
  const Tuning all(file);
  for (int w = 0; w < 4; ++w)
    for (int i = 0; i < 50; ++i) EXPECT_NE(all.find(std::to_string(w) + " " + std::to_string(i)), nullptr);
  EXPECT_EQ(lines_of(file), 200u);
}

TEST(Tuning, AFolderThatCannotBeWrittenIsNoError) {
  const TestFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  Tuning tuning(folder.path() / "file" / "gpu.jsonl");
  tuning.put("conv", {"a", "1", 1, {}});
  EXPECT_NE(tuning.find("conv"), nullptr);
}

TEST(FindFastest, TakesTheFastestAndNotesTheOthers) {
  const std::vector<Way> ways{{"slow", "1"}, {"fast", "2"}, {"broken", "3"}};
  const Contest contest = find_fastest(*host_device(), ways, [](std::size_t way) {
    if (way == 2) fail(ErrorKind::device, "not supported");
    if (way == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
  EXPECT_EQ(contest.winner, 1);
  EXPECT_EQ(contest.tuned.choice, "2");
  ASSERT_EQ(contest.tuned.slower.size(), 2u);
  EXPECT_EQ(contest.tuned.slower[0].name, "slow");
  EXPECT_EQ(contest.tuned.slower[1].reason, "not supported");
}

// Its clock goes on by what launches say they take.
class ClockDevice final : public Device {
 public:
  std::string name() const override { return "clock"; }
  std::byte* allocate(std::size_t) override { return nullptr; }
  void release(std::byte*, std::size_t) noexcept override {}
  void write(std::byte*, const void*, std::size_t) override {}
  void read(const std::byte*, void*, std::size_t) override {}
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override {}
  double time(const std::function<void()>& enqueue) override {
    const double begin = seconds;
    enqueue();
    return seconds - begin;
  }
  double seconds = 0;
};

TEST(FindFastest, LongOnesAreComparedAfterTheyRanForAWhile) {
  ClockDevice device;
  const std::vector<Way> ways{{"hot", "1"}, {"cool", "2"}, {"far", "3"}};
  std::vector<int> runs(ways.size());
  const Contest contest = find_fastest(device, ways, [&](std::size_t way) {
    const bool lasting = ++runs[way] > 20;
    device.seconds += way == 0   ? (lasting ? 3.4e-3 : 2.8e-3)
                      : way == 1 ? (lasting ? 3.2e-3 : 2.9e-3)
                                 : 3.1e-3;
  });
  EXPECT_EQ(contest.tuned.name, "cool");
  EXPECT_NEAR(contest.tuned.seconds, 3.2e-3, 1e-6);
  ASSERT_EQ(contest.tuned.slower.size(), 2u);
  EXPECT_EQ(contest.tuned.slower[0].name, "hot");
  EXPECT_EQ(contest.tuned.slower[0].reason, "slower: 3.40 ms");
  EXPECT_EQ(contest.tuned.slower[1].reason, "slower: 3.10 ms in a short run");
  EXPECT_LT(runs[2], 20);
}

TEST(FindFastest, ShortOnesRunOnlyAFewTimes) {
  ClockDevice device;
  int runs = 0;
  find_fastest(device, {{"a", "1"}, {"b", "2"}}, [&](std::size_t way) {
    ++runs;
    device.seconds += way == 0 ? 1.00e-4 : 1.01e-4;
  });
  EXPECT_LT(runs, 200);
}

TEST(FindFastest, WithLittleEffortLongOnesRunTwice) {
  ClockDevice device;
  std::vector<int> runs(2);
  const auto launch = [&](std::size_t way) {
    ++runs[way];
    device.seconds += way == 0 ? 2.9e-3 : 2.8e-3;
  };
  EXPECT_EQ(find_fastest(device, {{"a", "1"}, {"b", "2"}}, launch, Effort::quick).tuned.name, "b");
  EXPECT_EQ(runs, (std::vector{2, 2}));
}

TEST(FindFastest, SaysWhenAllFail) {
  const Contest contest =
      find_fastest(*host_device(), {{"broken", "3"}}, [](std::size_t) { fail(ErrorKind::device, "no"); });
  EXPECT_EQ(contest.winner, -1);
}

}  // namespace
}  // namespace trainyard::backend::cuda
