// These tests run parameter servers and workers on the nodes of an allocation.

#include <set>

#include <fmt/core.h>

#include "base/json.h"
#include "slurm/slurm_fixture.h"

namespace trainyard::slurm_test {
namespace {

// "n1" of what a part writes first: "worker 0 on n1, process 17".
std::string node_of(const std::string& log) {
  const std::string mark = " on ";
  const std::size_t at = log.find(mark), end = log.find(',', at);
  return at == std::string::npos ? "" : log.substr(at + mark.size(), end - at - mark.size());
}

TEST_F(SlurmTest, ServersAndWorkersOnBothNodes) {
  const std::string script = fmt::format(
      "#!/bin/sh\n"
      "{} train --network lenet --batch 4 --steps 6 --workers 2 --servers 2 --mode bsp --hosts slurm "
      "--threads 1 --no-eval --quiet --json --out {} >{} 2>{}\n",
      TRAINYARD_BINARY, file("run").string(), file("record.json").string(), file("errors").string());
  run_line({"sbatch", "--wait", "--nodes=2", "--ntasks=2", "--cpus-per-task=2", "--time=3",
            "--output=" + file("script.out").string(), write("job.sh", script).string()});
  const std::string record = content_of("record.json");
  ASSERT_FALSE(record.empty()) << content_of("errors") << content_of("script.out");
  const auto run = parse_json(record);
  EXPECT_EQ(run["status"], "ok");
  EXPECT_EQ(run["final_step"], 6);
  EXPECT_EQ(run["transport"], "tcp");
  EXPECT_EQ(run["exchange"]["gradients_by_worker"], (Json{{"0", 6}, {"1", 6}}));
  const std::set<std::string> both{"n1", "n2"};
  for (const char* part : {"worker", "server"}) {
    std::set<std::string> nodes;
    for (int number = 0; number < 2; ++number)
      nodes.insert(node_of(content_of(fmt::format("run/logs/{}-{}.log", part, number))));
    EXPECT_EQ(nodes, both) << part << "s";
  }
  EXPECT_TRUE(std::filesystem::exists(file("run/step-00000006/tensors.bin")));
}

}  // namespace
}  // namespace trainyard::slurm_test
