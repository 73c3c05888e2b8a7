#include "base/device_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {
namespace {

TEST(DeviceSpec, TextIsReadAndWrittenBack) {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:1", "cuda:12"})
    EXPECT_EQ(DeviceSpec::parse(text).to_string(), text);
  EXPECT_EQ(DeviceSpec::parse("cpu"), DeviceSpec::cpu());
  EXPECT_EQ(DeviceSpec::parse("cuda"), DeviceSpec::cuda());
  EXPECT_EQ(DeviceSpec::parse("cuda:3"), DeviceSpec::cuda(3));
  EXPECT_NE(DeviceSpec::cuda(), DeviceSpec::cuda(0)) << "ranks share one and not the other";
}

TEST(DeviceSpec, OtherTextIsRefused) {
  for (const char* text : {"", "CPU", "cpu:0", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "cuda1",
                           "cudax", "cuda:99999999999", "GTX1080"}) {
    EXPECT_FALSE(DeviceSpec::find(text)) << text;
    EXPECT_FALSE(names_gpu(text)) << text;
    try {
      DeviceSpec::parse(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("cpu, cuda or cuda:NUMBER"), std::string::npos)
          << error.what();
    }
  }
}

TEST(DeviceSpec, RanksTakeGpusInTurnUnlessOneIsNamed) {
  EXPECT_EQ(DeviceSpec::cuda().of_rank(2), DeviceSpec::cuda(2));
  EXPECT_EQ(DeviceSpec::cuda(1).of_rank(2), DeviceSpec::cuda(1));
  EXPECT_EQ(DeviceSpec::cpu().of_rank(2), DeviceSpec::cpu());
  EXPECT_EQ(DeviceSpec::cuda().gpu(), 0);
  EXPECT_EQ(DeviceSpec::cuda(3).gpu(), 3);
}

}  // namespace
}  // namespace trainyard
