#include "ps/server/state.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::ps {
namespace {

constexpr StateMemory::Sizes kSizes{.elements = 1000, .slots = 2, .versions = 4, .gradients = 3, .run = 17};

TEST(StateMemory, SurvivesAProcessThatIsKilled) {
  const TestFolder folder;
  const auto file = folder.path() / "shard";
  const pid_t child = ::fork();
  if (child == 0) {
    StateMemory memory(file, kSizes);
    std::fill(memory.parameters()[3].begin(), memory.parameters()[3].end(), 2.5f);
    std::fill(memory.slots(1).begin(), memory.slots(1).end(), 1.5f);
    std::fill(memory.gradients()[2].begin(), memory.gradients()[2].end(), 9.0f);
    memory.keep_gradient(2, 5, 77);
    memory.set_version({.updates = (std::int64_t{1} << 39) + 3, .parameters = 3, .slots = 1});
    Ledger ledger;
    ledger.begin(12, 34, {});
    memory.set_ledger(ledger);
    memory.set_port(40'123);
    memory.mark_begun();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  StateMemory memory(file, kSizes);
  ASSERT_TRUE(memory.has_begun());
  EXPECT_EQ(memory.version().updates, (std::int64_t{1} << 39) + 3);
  EXPECT_EQ(memory.version().parameters, 3);
  EXPECT_EQ(memory.version().slots, 1);
  EXPECT_EQ(memory.parameters()[3].back(), 2.5f);
  EXPECT_EQ(memory.slots(1).size(), 2000u);
  EXPECT_EQ(memory.slots(1).back(), 1.5f);
  EXPECT_EQ(memory.ledger().updates(), 12);
  EXPECT_EQ(memory.port(), 40'123);
  EXPECT_EQ(memory.ledger().next_batch(), 34);
  ASSERT_EQ(memory.kept_gradient(5, 77).size(), 1000u);
  EXPECT_EQ(memory.kept_gradient(5, 77).back(), 9);
  EXPECT_TRUE(memory.kept_gradient(5, 76).empty());
  memory.drop_all_gradients();
  EXPECT_TRUE(memory.kept_gradient(5, 77).empty());
}

TEST(StateMemory, WhatIsNotOfThisRunIsNotTakenOver) {
  const TestFolder folder;
  const auto file = folder.path() / "shard";
  {
    StateMemory memory(file, kSizes);
    EXPECT_FALSE(memory.has_begun());
    memory.mark_begun();
  }
  StateMemory::Sizes other = kSizes;
  other.run = 18;
  EXPECT_FALSE(StateMemory(file, other).has_begun());
  EXPECT_FALSE(StateMemory(file, kSizes).has_begun()) << "the other began anew";
  {
    StateMemory memory(file, kSizes);
    memory.mark_begun();
  }
  other = kSizes;
  other.elements = 2000;
  EXPECT_FALSE(StateMemory(file, other).has_begun());
}

TEST(StateMemory, WithoutAFileItIsMemory) {
  StateMemory memory("", kSizes);
  EXPECT_FALSE(memory.has_begun());
  EXPECT_EQ(memory.parameters().size(), 4u);
}

}  // namespace
}  // namespace trainyard::ps
