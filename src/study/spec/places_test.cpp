#include "study/spec/places.h"

#include <gtest/gtest.h>

namespace trainyard::study {
namespace {

std::optional<std::string> of_batch(const std::string& name) {
  if (name == "batch") return "16";
  if (name == "nested") return "{batch}";
  return std::nullopt;
}

TEST(Places, AreFilledOnceAndOthersStay) {
  EXPECT_EQ(fill_places("{batch}-{batch} {other}", of_batch), "16-16 {other}");
  EXPECT_EQ(fill_places("{nested}", of_batch), "{batch}") << "a value is no text to fill in";
  EXPECT_EQ(fill_places("", of_batch), "");
  EXPECT_EQ(fill_places("{batch", of_batch), "{batch");
}

TEST(Places, OfTheShellAndDoubledOnesAreNone) {
  EXPECT_EQ(fill_places("${batch} {{batch}}", of_batch), "${batch} {{batch}}");
  EXPECT_EQ(without_doubled_braces("awk '{{print}}' {batch} {{ x }} {{a}}{{b}}"),
            "awk '{print}' {batch} {{ x }} {a}{b}");
  EXPECT_EQ(places_in("${HOME} {{print}} [0-9]{4} {print $1} {\"a\": {b}} {c}{c}"),
            (std::vector<std::string>{"b", "c"}));
}

}  // namespace
}  // namespace trainyard::study
