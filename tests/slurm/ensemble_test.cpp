// An ensemble as the job script that we print for it, on the nodes of an allocation.

#include <fmt/core.h>

#include "base/json.h"
#include "cli/run_command.h"
#include "comm/collective/collective.h"
#include "slurm/slurm_fixture.h"

namespace trainyard::slurm_test {
namespace {

TEST_F(SlurmTest, MembersOfAnEnsembleAreRanksOnBothNodes) {
  if (!comm::collective::mpi_is_built()) GTEST_SKIP() << "built without MPI";
  const cli_test::CommandOptions here{file("").parent_path(), {}};
  const auto trainyard = [&](const std::string& words) {
    return cli_test::run(cli_test::trainyard(words), here);
  };
  ASSERT_EQ(
      trainyard("data pack synthetic --to photos --images 60 --classes 2 --pixels 32..40 --quiet").exit_code,
      0);
  write("two.yaml",
        "data: photos\npreprocess: {name: cifarnet_slim, size: 16}\nqueues: {block: 8, made: 32, ahead: "
        "32}\nsteps: 6\n"
        "members:\n  - {network: lenet, batch: 4, threads: 1, count: 2}\n");
  const cli_test::CommandResult script =
      trainyard("ensemble script two.yaml --design all-shared --out run --time 3");
  ASSERT_EQ(script.exit_code, 0) << script.err;
  shadow("trainyard", fmt::format("exec {} \"$@\"\n", TRAINYARD_BINARY));
  run_line({"sbatch", "--wait", "--nodes=2", "--ntasks-per-node=1", "--output=" + file("script.out").string(),
            write("job.sh", script.out).string()});
  ASSERT_TRUE(std::filesystem::exists(file("run/ensemble.json"))) << content_of("script.out");
  const auto record = parse_json(content_of("run/ensemble.json"));
  EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(record["images_consumed"], 2 * 6 * 4);
  EXPECT_NE(content_of("script.out").find("2 members by all-shared"), std::string::npos)
      << content_of("script.out");
}

}  // namespace
}  // namespace trainyard::slurm_test
