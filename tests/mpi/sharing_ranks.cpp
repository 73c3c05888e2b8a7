// One rank of an ensemble without networks: every design that these many ranks can have delivers every sample
// once to each. Prints what went wrong, and leaves with 1.
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "ensemble/test_sharing.h"

namespace trainyard::ensemble {
namespace {

bool delivers(Design design, int preprocessors, comm::collective::Job& job, std::int64_t wanted) {
  const bool alone = design == Design::baseline;
  TestMaker maker(alone ? 0 : job.rank(), alone ? 1 : preprocessors);
  TestTaker taker(wanted);
  std::atomic<std::int64_t> wasted = 0;
  share(design,
        {.blocks = std::make_shared<BlockPool>(kTestSizes),
         .preprocessors = preprocessors,
         .patience_seconds = 60,
         .make = [&](SampleBlock& block) { return maker.make(block); },
         .waste = [&](SampleBlock&) { ++wasted; },
         .deliver = [&](OwnedBlock block) { return taker.take(std::move(block)); }},
        job);
  const std::string complaint = taker.complaint();
  if (!complaint.empty())
    fmt::print(stderr, "{} with {} of {}: rank {}: {}\n", name(design), preprocessors, job.size(), job.rank(),
               complaint);
  return complaint.empty();
}

// A rank that waits for the first rank sleeps: it uses at most a tenth of a core.
bool sleeps(comm::collective::Job& job) {
  std::vector<int> ranks;
  for (int rank = 0; rank < job.size(); ++rank) ranks.push_back(rank);
  const auto group = job.make_group(ranks, 60);
  gather(*group, 0);
  const std::clock_t before = std::clock();
  if (job.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  gather(*group, 0);
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  if (used > 0.1) fmt::print(stderr, "rank {} used {:.2f} s of a second's waiting\n", job.rank(), used);
  return used <= 0.1;
}

int run_rank() {
  try {
    const auto job = comm::collective::join_mpi_job();
    bool good = sleeps(*job);
    for (const std::string& design : design_names())
      for (int preprocessors = 1; preprocessors <= job->size(); ++preprocessors) {
        if (design == name(Design::shared_memory) || !fits(*find_design(design), job->size(), preprocessors))
          continue;
        good = delivers(*find_design(design), preprocessors, *job, kTestSamples + 1) && good;
        good = delivers(*find_design(design), preprocessors, *job, 1 + 40 * job->rank()) && good;
      }
    return good ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace trainyard::ensemble

int main() { return trainyard::ensemble::run_rank(); }
