#include "study/slurm/node_list.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::study::slurm {
namespace {

using Nodes = std::vector<std::string>;

TEST(NodeList, Expands) {
  const std::vector<std::pair<std::string, Nodes>> cases{
      {"", {}},
      {"vm", {"vm"}},
      {"gpu001", {"gpu001"}},
      {"n[1-3]", {"n1", "n2", "n3"}},
      {"n[5]", {"n5"}},
      {"n[001-003,7,09-11]", {"n001", "n002", "n003", "n7", "n09", "n10", "n11"}},
      {"n[9-11]", {"n9", "n10", "n11"}},
      {"n[099-101]", {"n099", "n100", "n101"}},
      {"n[001-10]", {"n001", "n002", "n003", "n004", "n005", "n006", "n007", "n008", "n009", "n010"}},
      {"n[8-010]", {"n8", "n9", "n10"}},
      {"n[01-1]", {"n01"}},
      {"r[0-1]n[1-2]", {"r0n1", "r0n2", "r1n1", "r1n2"}},
      {"n[1-2][3-4]", {"n13", "n14", "n23", "n24"}},
      {"n[1-2]-[3-4]", {"n1-3", "n1-4", "n2-3", "n2-4"}},
      {"a[1-2]b[1-2]c[1-2]",
       {"a1b1c1", "a1b1c2", "a2b1c1", "a2b1c2", "a1b2c1", "a1b2c2", "a2b2c1", "a2b2c2"}},
      {"a,b[1-2],c-d.e", {"a", "b1", "b2", "c-d.e"}},
      {"n[1-2],n[3-4]", {"n1", "n2", "n3", "n4"}},
      {"n1,n1", {"n1", "n1"}},
      {"n[1-2].cluster", {"n1.cluster", "n2.cluster"}},
  };
  for (const auto& [text, nodes] : cases) EXPECT_EQ(expand_node_list(text), nodes) << text;
}

TEST(NodeList, SaysWhatIsMalformed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"n[", "'[' without a ']'"},
      {"n[1-2", "'[' without a ']'"},
      {"n]", "']' without a '['"},
      {"n[]", "'' is no number or range"},
      {"n[1,,2]", "'' is no number or range"},
      {"n[a-b]", "'a-b' is no number or range"},
      {"n[-1]", "'-1' is no number or range"},
      {"n[1-]", "'1-' is no number or range"},
      {"n[1-2-3]", "'1-2-3' is no number or range"},
      {"n[3-1]", "the range '3-1' runs backwards"},
      {"n[1[2]]", "a '[' inside brackets"},
      {"a,,b", "an empty name"},
      {",a", "an empty name"},
      {"a,", "it ends with a comma"},
      {"a b", "a blank"},
      {"n[0-70000]", "more than 65536 hosts"},
      {"n[0-999999999999999]", "more than 65536 hosts"},
      {"n[1-9999999999999999]", "is no number or range"},
      {"a[1-300]b[1-300]", "more than 65536 hosts"},
      {"a[1-40000],b[1-40000]", "more than 65536 hosts"},
  };
  for (const auto& [text, part] : cases)
    expect_error(ErrorKind::config, part, [&] { expand_node_list(text); });
}

TEST(TaskList, Expands) {
  EXPECT_EQ(expand_task_list("3"), (std::vector{3}));
  EXPECT_EQ(expand_task_list("0-3,8"), (std::vector{0, 1, 2, 3, 8}));
  EXPECT_EQ(expand_task_list("0-8:4"), (std::vector{0, 4, 8}));
  EXPECT_EQ(expand_task_list("[5-7%2]"), (std::vector{5, 6, 7}));
  EXPECT_EQ(expand_task_list("5,7%1"), (std::vector{5, 7}));
  for (const char* bad : {"", "N/A", "1-", "3-1", "0-8:0", "1,,2", "0-99999999999", "0-..."})
    expect_error(ErrorKind::config, "is no number or range", [&] { expand_task_list(bad); });
}

}  // namespace
}  // namespace trainyard::study::slurm
