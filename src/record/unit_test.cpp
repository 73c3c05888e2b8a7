#include "record/unit.h"

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

TEST(Units, StandAtTheEndOfNames) {
  EXPECT_EQ(unit_in_name("load_seconds"), unit::seconds);
  EXPECT_EQ(unit_in_name("seconds"), unit::seconds);
  EXPECT_EQ(unit_in_name("gpu_clock_hertz_before"), unit::hertz);
  EXPECT_EQ(unit_in_name("disk_read_bytes_per_second"), unit::bytes_per_second);
  EXPECT_EQ(unit_in_name("images_per_second_per_device"), unit::images_per_second);
  EXPECT_EQ(unit_in_name("cpu_seconds_per_image"), unit::seconds_per_image);
  EXPECT_EQ(unit_in_name("tokens_per_second"), unit::tokens_per_second);
  for (const char* none : {"network", "bytes_read", "milliseconds", "batch_per_device", "flops_per_watt", ""})
    EXPECT_EQ(unit_in_name(none), unit::none) << none;
}

TEST(Units, NamesCanDoWithoutThem) {
  EXPECT_EQ(without_unit("gpu0_power_watts"), "gpu0_power");
  EXPECT_EQ(without_unit("disk_read_bytes_per_second"), "disk_read");
  EXPECT_EQ(without_unit("bytes"), "");
  EXPECT_EQ(without_unit("processes"), "processes");
  EXPECT_EQ(without_unit("tokens_per_second"), "");
}

TEST(Units, HaveATextForPeople) {
  EXPECT_EQ(to_text(unit::bytes), "bytes");
  EXPECT_EQ(to_text(unit::images_per_second), "images/s");
  EXPECT_EQ(to_text(unit::joules_per_image), "joules/image");
  EXPECT_EQ(to_text(unit::none), "");
}

}  // namespace
}  // namespace trainyard::record
