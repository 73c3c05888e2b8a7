// Several machines, and workers that are not alike.

#include <fmt/core.h>

#include "backend/backend.h"
#include "base/json.h"
#include "jobs/job_fixture.h"

namespace trainyard::jobs_test {
namespace {

class HostsTest : public JobTest {
 protected:
  std::string hosts(const std::string& lines) const {
    std::ofstream(work() / "hosts") << lines;
    return " --hosts hosts ";
  }
  static constexpr const char* kJob =
      "--network lenet --batch 4 --steps 5 --workers 2 --mode bsp --threads 2 --no-eval --lease 30 "
      "--patience 120 ";
};

TEST_F(HostsTest, UnlikeWorkersTrainTogether) {
  if (backend::make_onednn_backend() == nullptr) GTEST_SKIP() << "built without oneDNN";
  const std::string job = kJob;
  record_of(job + "--servers 2 --out alike");
  const std::string unlike = hosts(
      "localhost servers=1 backend=onednn  # as the run\n"
      "localhost servers=1 backend=reference\n");
  const Json record = record_of(job + "--servers 2 --out unlike" + unlike);
  EXPECT_EQ(record["exchange"]["layout"], "canonical");
  EXPECT_EQ(record["exchange"]["gradients_by_worker"], (Json{{"0", 5}, {"1", 5}}));
  EXPECT_LT(largest_difference(tensors("unlike"), tensors("alike")), 1e-4f);
  EXPECT_FALSE(tensors("unlike") == tensors("alike")) << "both were made by one backend";
  expect_failure(train(job + "--servers 2 --wire-layout native" + unlike), 1,
                 "its native layout of parameters is not that of the job; --wire-layout canonical serves");
}

TEST_F(HostsTest, MistakesNameTheOption) {
  const std::string job = "--network lenet --batch 4 --steps 1 --workers 2 ";
  const auto refused = [&](const std::string& rest, const std::string& part) {
    expect_failure(train(job + rest), 1, part);
  };
  refused("--mode hogwild --optimizer adam", "--mode hogwild: takes gradients off");
  refused("--mode bps", "bps");
  refused("--mode ssp:x", "ssp:x");
  refused("--mode bsp --servers 0", "--servers: '0' given, a whole number from 1 to 1000000 expected");
  refused("--mode allreduce --servers 2", "--servers 2: --mode allreduce exchanges without servers");
  refused("--mode bsp --wire f16", "--wire 'f16'");
  refused("--mode bsp --wire-layout plain", "--wire-layout 'plain'");
  refused("--mode bsp --transport udp", "--transport 'udp'");
  refused("--mode bsp --min-workers 3", "--min-workers 3: must be between 1 and 2");
  refused("--mode bsp --restarts -1", "--restarts: '-1' given");
  refused("--mode bsp --lease 0", "--lease: '0' given, a number above 0");
  refused("--mode bsp --patience -1", "--patience: '-1' given");
  refused("--mode bsp --collective mpi", "--collective mpi: --mode bsp exchanges through servers");
  refused("--mode bsp --hosts none", "--hosts: cannot read 'none'");
  refused("--mode bsp --hosts slurm", "--hosts slurm: this process is in no allocation");
  refused("--mode bsp" + hosts("# nobody\n"), "--hosts: 'hosts' names no host");
  refused("--mode bsp" + hosts("a\nb cores=3\n"), "'hosts', line 2: 'cores=3' is not known");
  refused("--mode bsp" + hosts("a workers=x\n"), "'hosts', line 1: 'x' is no number of processes");
  refused("--mode bsp" + hosts("a device=tpu\n"), "'hosts', line 1: unknown device 'tpu'");
  refused("--mode bsp" + hosts("a workers=3\n"), "--workers 2: 'hosts' has room for 3");
  refused("--mode bsp" + hosts("a servers=2\nb\n"), "--servers 1: 'hosts' names 2");
  refused("--mode bsp --transport shm" + hosts("a\nb\n"), "--transport shm: does not reach other machines");
}

// A remote shell begins in a folder of its own.
TEST_F(HostsTest, ANetworksFileIsFoundFromTheFolderOfARemoteShell) {
  ASSERT_EQ(run("networks export deepmnist --to mine.onnx --weights initial").exit_code, 0);
  const std::string shell = (work() / "shell").string(),
                    data = fmt::format("--data mnist --from {} ", (work() / "digits").string());
  std::ofstream(shell) << "#!/bin/sh\nshift\ncd /\nexec \"$@\"\n";
  std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
  const std::string job =
      data +
      "--network mine.onnx --batch 4 --steps 3 --workers 2 --servers 1 --mode bsp --threads 2 --no-eval "
      "--lease 30 --patience 120 --preprocess unit ";
  const Json here = record_of(job), there = record_of(job + "--remote-shell " + shell +
                                                      hosts("a address=127.0.0.1\nlocalhost servers=1\n"));
  EXPECT_EQ(there["exchange"]["gradients_by_worker"], (Json{{"0", 3}, {"1", 3}}));
  EXPECT_EQ(here["network"], "mine.onnx");
}

// A machine that cannot be reached is named, with what the remote shell said of it.
TEST_F(HostsTest, AMachineThatIsNotThere) {
  const cli_test::CommandResult result =
      run(train(std::string(kJob) + "--servers 1 --restarts 0 --remote-shell false" + hosts("a\nb\n")));
  expect_failed(result, 1, "server 0 ended with exit code 1");
}

}  // namespace
}  // namespace trainyard::jobs_test
