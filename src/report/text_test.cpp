#include "report/text.h"

#include <gtest/gtest.h>

namespace trainyard::report {

namespace {

TEST(Escape, HtmlTextCannotOpenAnElementOrEndAnAttribute) {
  EXPECT_EQ(html_text("</script><b>&\"'"), "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(html_text("plain, 12 %"), "plain, 12 %");
}

TEST(Escape, JsonInAScriptHasNoAngleAndMeansTheSame) {
  EXPECT_EQ(json_in_script(R"({"a": "</script><!--", "b": "1 > 0"})"),
            R"({"a": "\u003c/script>\u003c!--", "b": "1 > 0"})");
}

TEST(Escape, ProgramsCannotEndTheirScriptInAnyCase) {
  EXPECT_EQ(program_in_script("a='</script>';b='</ScRiPt >';c='<!--';d='</div>';e=1<2"),
            "a='<\\/script>';b='<\\/ScRiPt >';c='<\\!--';d='</div>';e=1<2");
}

TEST(Escape, ProgramsLoseTheAddressOfTheirSourceMap) {
  EXPECT_EQ(program_in_script("run();\n//# sourceMappingURL=a.js.map\n"), "run();\n\n");
  EXPECT_EQ(program_in_script("run();\n//# sourceMappingURL=a.js.map"), "run();\n");
}

TEST(Escape, AddressesKeepOddNames) {
  EXPECT_EQ(address_of("logs/a b:1#?%.log"), "logs/a%20b%3A1%23%3F%25.log");
  EXPECT_EQ(address_of("../x-1_2.json"), "../x-1_2.json");
}

TEST(NumberText, KeepsThreeFiguresAndGroupsThousands) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.04561), "0.0456");
  EXPECT_EQ(number_text(5), "5");
  EXPECT_EQ(number_text(12.345), "12.3");
  EXPECT_EQ(number_text(345.67), "345.7");
  EXPECT_EQ(number_text(999.96), "1,000");
  EXPECT_EQ(number_text(1234567.8), "1,234,568");
  EXPECT_EQ(number_text(-12345), "-12,345");
  EXPECT_EQ(number_text(NAN), "-");
}

TEST(NumberText, CountsAndSharesReadAsWords) {
  EXPECT_EQ(count_text(1, "run"), "1 run");
  EXPECT_EQ(count_text(500, "run"), "500 runs");
  EXPECT_EQ(count_text(12000, "step"), "12,000 steps");
  EXPECT_EQ(percent_text(0.0123), "1.23 %");
  EXPECT_EQ(percent_text(0.361), "36.1 %");
  EXPECT_EQ(time_text(0), "1970-01-01 00:00");
}

}  // namespace

}  // namespace trainyard::report
