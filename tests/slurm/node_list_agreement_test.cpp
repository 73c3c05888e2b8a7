#include <sstream>

#include "slurm/slurm_fixture.h"
#include "study/slurm/node_list.h"

namespace trainyard::slurm_test {
namespace {

using NodeListAgreement = SlurmTest;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(NodeListAgreement, WithScontrol) {
  for (const char* list :
       {"vm", "gpu001", "n[1-3]", "n[5]", "n[001-003,7,09-11]", "n[9-11]", "n[099-101]", "n[001-10]",
        "n[8-010]", "n[01-1]", "r[0-1]n[1-2]", "n[1-2][3-4]", "n[1-2]-[3-4]", "a,b[1-2],c-d", "n[1-2],n[3-4]",
        "n1,n1", "rack[0-2]chassis[01-02]blade[8-10]", "a[1-2]b[1-2]c[1-2]d[1-2],e[1-3]", "n[1-1000]"}) {
    const auto nodes = study::slurm::expand_node_list(list);
    EXPECT_EQ(nodes, lines_of(run_line({"scontrol", "show", "hostnames", list}))) << list;
  }
}

}  // namespace
}  // namespace trainyard::slurm_test
