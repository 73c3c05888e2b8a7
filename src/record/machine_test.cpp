#include "record/machine.h"

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

RunRecord run_with(Provenance facts) {
  RunRecord run;
  run.node = "ip-10-0-0-7";
  run.provenance = std::move(facts);
  return run;
}

TEST(Machine, ProcessorAndCoresMakeIt) {
  EXPECT_EQ(machine_of(run_with({{"cpu", "model", "AMD EPYC 9R14"},
                                 {"cpu", "allowed_cores", std::int64_t{2}},
                                 {"cpu", "logical_cores", std::int64_t{64}}})),
            "AMD EPYC 9R14, 2 cores");
  EXPECT_EQ(machine_of(run_with({{"cpu", "model", "  Intel(R) Xeon(R) CPU           E5645 "},
                                 {"cpu", "allowed_cores", std::int64_t{1}}})),
            "Intel(R) Xeon(R) CPU E5645, 1 core");
  EXPECT_EQ(machine_of(run_with({{"cpu", "vendor", "0x41"}, {"cpu", "allowed_cores", std::int64_t{4}}})),
            "processor of 0x41, 4 cores");
}

TEST(Machine, AContainersShareOfTimeCounts) {
  const auto with_quota = [](double quota) {
    return machine_of(run_with({{"cpu", "model", "AMD EPYC 9R14"},
                                {"cpu", "allowed_cores", std::int64_t{64}},
                                {"cpu", "quota_cores", quota}}));
  };
  EXPECT_EQ(with_quota(2), "AMD EPYC 9R14, 2 cores");
  EXPECT_EQ(with_quota(1.5), "AMD EPYC 9R14, 1.5 cores");
  EXPECT_EQ(with_quota(128), "AMD EPYC 9R14, 64 cores");
}

TEST(Machine, GpusAreCountedByName) {
  Provenance facts{{"cpu", "model", "AMD EPYC 9R14"},
                   {"cpu", "allowed_cores", std::int64_t{16}},
                   {"gpu", "count", std::int64_t{1}},
                   {"gpu0", "name", "NVIDIA H200"}};
  EXPECT_EQ(machine_of(run_with(facts)), "AMD EPYC 9R14, 16 cores, NVIDIA H200 x1");
  facts.push_back({"gpu1", "name", "NVIDIA A100"});
  facts.push_back({"gpu2", "name", "NVIDIA H200"});
  EXPECT_EQ(machine_of(run_with(facts)), "AMD EPYC 9R14, 16 cores, NVIDIA A100 x1, NVIDIA H200 x2");
  EXPECT_EQ(machine_of(run_with({{"gpu0", "name", "NVIDIA H200"}})), "NVIDIA H200 x1");
}

TEST(Machine, WhatTheRecordDoesNotSayIsEmpty) {
  EXPECT_EQ(machine_of(run_with({})), "");
  EXPECT_EQ(
      machine_of(run_with({{"cpu", "allowed_cores", std::int64_t{2}}, {"gpu", "count", std::int64_t{0}}})),
      "");
}

}  // namespace
}  // namespace trainyard::record
