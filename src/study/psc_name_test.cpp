#include "study/psc_name.h"

#include <gtest/gtest.h>

namespace trainyard::study {
namespace {

TEST(PscName, EveryFormComesBack) {
  for (const char* text :
       {"2018-05-31-k80:1", "2018-06-04-k80:4:local", "2018-06-04-p100:2:scratch",
        "2018-06-14-GPU-k80:1:local", "2018-06-22-GPU-p100:2:scratch:PS", "2018-06-22-GPU-k80:4:local:IN",
        "2018-07-01-GPU-k80:2:1024:local:PS", "2018-07-01-GPU-p100:1:16384:scratch:IN",
        "2018-06-11-CPU-GPU:E5-2683-V4:32", "2018-06-13-CPU-RM:E5-2695-V2:14:local",
        "2018-07-05-CPU-RM:E5-2695-V2:8:64:scratch", "2018-07-24-CPU-GPU_E5-2683-V4_1_128_local",
        "2018-08-01-CPU-XLM:E7-8880-V4:288:local"}) {
    const auto name = parse_psc_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(to_text(*name), text);
  }
}

TEST(PscName, HasItsParts) {
  const auto gpu = parse_psc_name("2018-07-01-GPU-k80:2:1024:local:PS");
  EXPECT_EQ(gpu->date, "2018-07-01");
  EXPECT_FALSE(gpu->cpu);
  EXPECT_EQ(gpu->gpu_type, "k80");
  EXPECT_EQ(gpu->count, 2);
  EXPECT_EQ(gpu->batch, 1024);
  EXPECT_EQ(gpu->staging, "local");
  EXPECT_EQ(gpu->variant, "PS");
  const auto cpu = parse_psc_name("2018-07-24-CPU-GPU_E5-2683-V4_1_128_scratch");
  EXPECT_TRUE(cpu->cpu);
  EXPECT_EQ(cpu->partition, "GPU");
  EXPECT_EQ(cpu->model, "E5-2683-V4");
  EXPECT_EQ(cpu->count, 1);
  EXPECT_EQ(cpu->batch, 128);
  EXPECT_EQ(parse_psc_name("2018-06-11-CPU-RM:E5-2695-V2:7")->batch, std::nullopt);
}

TEST(PscName, OtherFilesAreNotMeant) {
  for (const char* text :
       {"2018-06-05:TF_PERFORMANCE_RESULTS.csv", "2018-06-05:K80-LOCAL.png", "slurm-3543480.out", "",
        "2018-06-04", "2018-06-04-k80", "2018-06-04-k80:0", "2018-06-04-k80:two", "2018-06-04-k80:2:disk",
        "2018-06-04-k80:02", "2018-06-04-k80:2:local:PS:more", "2018-06-11-CPU-RM:8"})
    EXPECT_FALSE(parse_psc_name(text)) << text;
}

}  // namespace
}  // namespace trainyard::study
