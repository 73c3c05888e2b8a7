#include "report/escape.h"

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

}  // namespace
}  // namespace trainyard::report
