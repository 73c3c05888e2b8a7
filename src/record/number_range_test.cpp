#include "record/value.h"

#include <gtest/gtest.h>

#include "record/settings.h"

namespace trainyard::record {
namespace {

TEST(NumberRange, WholeNumbersAreWhatWasTyped) {
  const NumberRange range = NumberRange::whole(1, 1000);
  EXPECT_EQ(range.read("1"), "1");
  EXPECT_EQ(range.read("1000"), "1000");
  EXPECT_EQ(range.read("010"), "10");  // never octal
  for (const char* text : {"", "0", "1001", "-1", "+1", " 1", "1 ", "3x", "x", "1.5", "1e2", "0x10", "nan",
                           "inf", "99999999999999999999", "-99999999999999999999", "1,000"})
    EXPECT_FALSE(range.read(text)) << text;
  EXPECT_EQ(range.complaint("0"), "'0' given, a whole number from 1 to 1000 expected");
  EXPECT_EQ(NumberRange::whole(2).complaint("1"), "'1' given, a whole number of at least 2 expected");
  EXPECT_EQ(range_of("seed").complaint("99999999999999999999"),
            "'99999999999999999999' given, a whole number from 0 to 9223372036854775807 expected");
}

TEST(NumberRange, RealNumbersAreFiniteAndInside) {
  const NumberRange range = NumberRange::below(0, 1);
  for (const char* text : {"0", "0.9", "1e-3", ".5"}) EXPECT_TRUE(range.read(text)) << text;
  for (const char* text : {"", "1", "-0.1", "nan", "-nan", "inf", "1e400", "0.5x", "half", "0,5"})
    EXPECT_FALSE(range.read(text)) << text;
  EXPECT_EQ(range.describe(), "a number from 0 to below 1");
  EXPECT_EQ(NumberRange::above(0).describe(), "a number above 0");
  EXPECT_EQ(NumberRange::above(0, 1).describe(), "a number above 0 and at most 1");
  EXPECT_EQ(NumberRange::between(0, 1).describe(), "a number above 0 and below 1");
  EXPECT_FALSE(NumberRange::above(0).read("0"));
  EXPECT_EQ(NumberRange::above(0).complaint("1e39"),
            "'1e39' given, a number above 0 and at most 1e+38 expected");
  EXPECT_FALSE(NumberRange::real(0).read("1e39"));  // beyond what is ever meant
}

TEST(NumberRange, ValuesOfYaml) {
  EXPECT_TRUE(range_of("batch").contains(Value(std::int64_t{8})));
  EXPECT_FALSE(range_of("batch").contains(Value(std::int64_t{0})));
  EXPECT_FALSE(range_of("batch").contains(Value(8.0)));
  EXPECT_TRUE(range_of("lr").contains(Value(std::int64_t{1})));
  EXPECT_TRUE(range_of("lr").contains(Value(0.5)));
  for (const Value& no : {Value(true), Value(std::string("fast")), Value(-0.5)})
    EXPECT_FALSE(range_of("lr").contains(no));
  EXPECT_EQ(find_range("network"), nullptr);
}

}  // namespace
}  // namespace trainyard::record
