#include "backend/onednn/runtime/isa_check.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::backend::onednn {
namespace {

// Returns a machine that announces `best`, and on which `faulty` and better ones die.
CpuIsa on_machine(const std::string& best, const std::string& faulty, std::vector<std::string>& tried) {
  const std::vector<std::string> levels{"AVX512_CORE_AMX",
                                        "AVX512_CORE_BF16",
                                        "AVX512_CORE_VNNI",
                                        "AVX512_CORE",
                                        "AVX2_VNNI",
                                        "AVX2",
                                        "AVX",
                                        "SSE41"};
  const auto rank = [&](const std::string& name) {
    return std::find(levels.begin(), levels.end(), name) - levels.begin();
  };
  return find_usable_isa([&](const std::string& most) {
    tried.push_back(most);
    const std::string taken = most.empty() || rank(most) < rank(best) ? best : most;
    const bool dies = !faulty.empty() && rank(taken) <= rank(faulty);
    return IsaTrial{dies ? 128 + SIGILL : 0, taken};
  });
}

TEST(IsaCheck, WhatRunsIsUsed) {
  std::vector<std::string> tried;
  const CpuIsa isa = on_machine("AVX512_CORE_AMX", "", tried);
  EXPECT_EQ(isa.name, "AVX512_CORE_AMX");
  EXPECT_EQ(isa.refused, "");
  EXPECT_EQ(tried, (std::vector<std::string>{""}));
}

TEST(IsaCheck, TilesThatDieLeaveTheLevelBelow) {
  std::vector<std::string> tried;
  const CpuIsa isa = on_machine("AVX512_CORE_AMX", "AVX512_CORE_AMX", tried);
  EXPECT_EQ(isa.name, "AVX512_CORE_BF16");
  EXPECT_EQ(isa.refused, "AVX512_CORE_AMX");
  EXPECT_EQ(isa.reason, "died of signal 4 (Illegal instruction)");
  EXPECT_EQ(tried, (std::vector<std::string>{"", "AVX512_CORE_BF16"}));
}

TEST(IsaCheck, ItGoesDownFromWhatTheProcessorHas) {
  std::vector<std::string> tried;
  const CpuIsa isa = on_machine("AVX2", "AVX2", tried);
  EXPECT_EQ(isa.name, "AVX");
  EXPECT_EQ(tried, (std::vector<std::string>{"", "AVX"}));
}

TEST(IsaCheck, AMachineThatRunsNothingIsRefused) {
  std::vector<std::string> tried;
  expect_error(ErrorKind::unsupported, "CPU kernels: a process that tried them died of signal 4",
               [&] { on_machine("AVX512_CORE", "SSE41", tried); });
  EXPECT_EQ(tried.back(), "SSE41");
}

// A build for its own machine has one level, a portable one three.
TEST(KernelLevel, LesserInstructionsGetALesserLevelThatComputesTheSame) {
  make_backend("onednn");
  const std::string best = usable_level().name;
  EXPECT_STREQ(level_of(found_cpu_isa()->name).name, best.c_str());
  if (best == "native") {
    EXPECT_STREQ(level_of("SSE41").name, "native");
    return;
  }
  EXPECT_STREQ(level_of("SSE41").name, "x86-64-v2");
  EXPECT_STREQ(level_of("AVX").name, "x86-64-v2");
  EXPECT_STRNE(level_of("AVX2").name, "x86-64-v4");
  for (const char* isa : {"SSE41", "AVX2", "AVX512_CORE"}) {
    const KernelLevel& level = level_of(isa);
    if (level.name > best) continue;  // this machine dies of it
    EXPECT_TRUE(level.product_is_right()) << level.name;
    std::vector<float> parameters(100, 1.0f);
    const std::vector<float> gradient(100, 2.0f);
    ops::UpdateAttrs attrs;
    attrs.schedule.rate = 0.25;
    level.flat_update(attrs)(FlatUpdate::in_place(parameters.data(), gradient.data()), {.rate = 0.25f}, 0,
                             100);
    EXPECT_EQ(parameters, std::vector<float>(100, 0.5f)) << level.name;
  }
}

TEST(IsaCheck, OnThisMachineSomethingIsFound) {
  const auto backend = make_backend("onednn");
  ASSERT_TRUE(found_cpu_isa().has_value());
  // CTest also runs this with TRAINYARD_FAULTY_ISA=AVX.
  if (const char* faulty = std::getenv("TRAINYARD_FAULTY_ISA");
      faulty != nullptr && std::string(faulty) == "AVX")
    EXPECT_EQ(found_cpu_isa()->name, "SSE41");
  else
    EXPECT_FALSE(found_cpu_isa()->name.empty());
}

}  // namespace
}  // namespace trainyard::backend::onednn
