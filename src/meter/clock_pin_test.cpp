#include "meter/clock_pin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/test_machine.h"

namespace trainyard::meter {
namespace {

constexpr const char *kFirst = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                     *kSecond = "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
                     *kBoost = "/sys/devices/system/cpu/cpufreq/boost",
                     *kNoTurbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";

class ClockPinTest : public testing::Test {
 protected:
  ClockPinTest() {
    machine_.write("/proc/sys/kernel/random/boot_id", "first")
        .write(kFirst, "powersave")
        .write(kSecond, "schedutil")
        .write(kBoost, "1");
  }
  std::string content(const char* path) const { return machine_.files().text(path).value_or("(absent)"); }
  std::string contents() const { return content(kFirst) + " " + content(kSecond) + " " + content(kBoost); }
  std::filesystem::path notes() const { return notes_.path(); }
  bool is_noted(const std::string& name) const {
    return std::filesystem::exists(notes() / (name + ".clocks.json"));
  }

  TestMachine machine_;
  TestFolder notes_;
};

constexpr const char *kAsItWas = "powersave schedutil 1", *kHeld = "performance performance 0";

TEST_F(ClockPinTest, HoldsAndPutsBack) {
  {
    const ClockPin pin(notes(), "a", nullptr, machine_.files());
    EXPECT_EQ(contents(), kHeld);
    EXPECT_EQ(pin.pinned(), "cpu: governor performance, turbo off");
    EXPECT_TRUE(pin.refused().empty());
    EXPECT_TRUE(is_noted("a"));
    EXPECT_EQ(put_back_clocks(notes(), machine_.files()), 0) << "it holds";
  }
  EXPECT_EQ(contents(), kAsItWas);
  EXPECT_FALSE(is_noted("a"));
}

TEST_F(ClockPinTest, IntelsSwitchIsTheOtherWayRound) {
  std::filesystem::remove(machine_.place_of(kBoost));
  machine_.write(kNoTurbo, "0");
  {
    const ClockPin pin(notes(), "a", nullptr, machine_.files());
    EXPECT_EQ(content(kNoTurbo), "1");
    EXPECT_EQ(pin.pinned(), "cpu: governor performance, turbo off");
  }
  EXPECT_EQ(content(kNoTurbo), "0");
}

TEST_F(ClockPinTest, AMachineWithoutClocksSaysSo) {
  const TestMachine bare;
  const ClockPin pin(notes(), "a", nullptr, bare.files());
  EXPECT_EQ(pin.pinned(), "");
  EXPECT_EQ(pin.refused(), (std::vector<std::string>{"this machine shows no clocks"}));
  EXPECT_FALSE(is_noted("a"));
}

// Files that can be read, but that not even root can write.
TEST_F(ClockPinTest, WhatIsNotAllowedIsToldOnceAndLeft) {
  for (const char* path : {kFirst, kSecond}) {
    std::filesystem::remove(machine_.place_of(path));
    std::filesystem::create_symlink("/proc/version", machine_.place_of(path));
  }
  {
    const ClockPin pin(notes(), "a", nullptr, machine_.files());
    EXPECT_EQ(pin.pinned(), "cpu: turbo off");
    ASSERT_EQ(pin.refused().size(), 1u);
    EXPECT_EQ(pin.refused()[0].find("scaling_governor: "), 0u) << pin.refused()[0];
  }
  EXPECT_EQ(content(kBoost), "1");
  EXPECT_FALSE(is_noted("a"));
}

// In whatever order they end, the last one restores what the first one found.
TEST_F(ClockPinTest, SeveralHoldAtOnce) {
  std::optional<ClockPin> first, second;
  first.emplace(notes(), "first", nullptr, machine_.files());
  second.emplace(notes(), "second", nullptr, machine_.files());
  first.reset();
  EXPECT_EQ(contents(), kHeld);
  EXPECT_FALSE(is_noted("first"));
  second.reset();
  EXPECT_EQ(contents(), kAsItWas);
}

class KilledPinTest : public ClockPinTest {
 protected:
  // A process that pins and is killed.
  void pin_and_die(const std::string& name) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const ClockPin pin(notes(), name, nullptr, machine_.files());
      ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(is_noted(name));
  }
};

TEST_F(KilledPinTest, LeavesANoteByWhichItIsPutBack) {
  pin_and_die("killed");
  EXPECT_EQ(contents(), kHeld);
  EXPECT_EQ(put_back_clocks(notes(), machine_.files()), 1);
  EXPECT_EQ(contents(), kAsItWas);
  EXPECT_EQ(put_back_clocks(notes(), machine_.files()), 0);
}

TEST_F(KilledPinTest, TheNextPinKnowsWhatWasBefore) {
  pin_and_die("killed");
  {
    const ClockPin pin(notes(), "next", nullptr, machine_.files());
    EXPECT_EQ(contents(), kHeld);
  }
  EXPECT_EQ(contents(), kAsItWas);
}

TEST_F(KilledPinTest, BesideALivingPinNothingIsPutBack) {
  std::optional<ClockPin> living;
  living.emplace(notes(), "living", nullptr, machine_.files());
  pin_and_die("killed");
  EXPECT_EQ(put_back_clocks(notes(), machine_.files()), 1);
  EXPECT_EQ(contents(), kHeld);
  living.reset();
  EXPECT_EQ(contents(), kAsItWas);
}

TEST_F(KilledPinTest, AStartOfTheMachineSettlesIt) {
  pin_and_die("killed");
  machine_.write("/proc/sys/kernel/random/boot_id", "second").write(kFirst, "ondemand");
  put_back_clocks(notes(), machine_.files());
  EXPECT_EQ(content(kFirst), "ondemand");
  EXPECT_FALSE(is_noted("killed"));
}

TEST_F(ClockPinTest, WithoutANoteNothingChanges) {
  const std::filesystem::path nowhere = notes() / "absent";
  expect_error(ErrorKind::io, "absent", [&] { ClockPin(nowhere, "a", nullptr, machine_.files()); });
  EXPECT_EQ(contents(), kAsItWas);
}

}  // namespace
}  // namespace trainyard::meter
