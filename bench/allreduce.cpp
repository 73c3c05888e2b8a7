// Measures how long an all-reduce takes: MPI's own, ours on MPI, ours among threads of one process. All three
// in turn, and each time another first, so that what the machine does meanwhile meets them alike.
//
//   mpirun -n 2 --bind-to none build/release/bench/allreduce [--rounds N] [BYTES...]
#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/parallel.h"
#include "comm/collective/local.h"

namespace trainyard {
namespace {

using comm::collective::Collective;
using comm::collective::LocalGroup;

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void bare(std::vector<float>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

// Without a busy wait: the cores belong to those who are timed.
void wait_asleep() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

// The slowest rank's seconds.
double timed(const std::function<void()>& body) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = now_seconds();
  body();
  double seconds = now_seconds() - began;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// As many threads as there are ranks, each on a core of its own, all in one process.
double local_seconds(int ranks, std::size_t length, int repeats) {
  LocalGroup group(ranks);
  std::vector<double> seconds;
  std::vector<std::thread> threads;
  const auto& cores = process_cores();
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const int core = cores[static_cast<std::size_t>(rank) % cores.size()];
      pin_thread({&core, 1});
      set_thread_count(1);
      std::vector<float> values(length, 1.0f);
      for (int repeat = 0; repeat < repeats; ++repeat) {
        group.barrier();
        const double began = now_seconds();
        group.all_reduce_mean(rank, values);
        if (rank == 0 && repeat > 0) seconds.push_back(now_seconds() - began);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return median(seconds);
}

void compare(Collective& group, std::size_t bytes, int rounds) {
  const int repeats = rounds > 0 ? rounds : bytes > (std::size_t{8} << 20) ? 21 : 201;
  std::vector<float> values(bytes / sizeof(float), 1.0f);
  std::array<std::vector<double>, 2> seconds;
  const std::array<std::function<void()>, 2> ways{[&] { bare(values); },
                                                  [&] { group.all_reduce_mean(values); }};
  for (int repeat = 0; repeat < repeats + 2; ++repeat)
    for (std::size_t turn = 0; turn < ways.size(); ++turn) {
      const std::size_t way = (turn + static_cast<std::size_t>(repeat)) % ways.size();
      std::fill(values.begin(), values.end(), 1.0f);  // alike in every cache
      const double took = timed(ways[way]);
      if (repeat >= 2) seconds[way].push_back(took);
    }
  const double theirs = median(seconds[0]), ours = median(seconds[1]);
  const double local = group.rank() == 0 ? local_seconds(group.size(), values.size(), repeats) : 0;
  wait_asleep();
  if (group.rank() == 0)
    fmt::print("{:>10} {:>12.4f} {:>12.4f} {:>6.2f} {:>12.4f}\n", bytes, 1e3 * theirs, 1e3 * ours,
               ours / theirs, 1e3 * local);
}

}  // namespace
}  // namespace trainyard

int main(int count, char** arguments) {
  std::vector<std::size_t> sizes;
  int rounds = 0;  // as many as take some seconds
  for (int i = 1; i < count; ++i)
    if (std::string(arguments[i]) == "--rounds" && i + 1 < count)
      rounds = std::max(std::atoi(arguments[++i]), 2);
    else
      sizes.push_back(std::strtoull(arguments[i], nullptr, 10));
  if (sizes.empty()) sizes = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4273192, 16 << 20, 64 << 20};
  const auto group = trainyard::comm::collective::join_mpi();
  const auto& cores = trainyard::process_cores();
  const int core = cores[static_cast<std::size_t>(group->rank()) % cores.size()];
  trainyard::pin_thread({&core, 1});
  trainyard::set_thread_count(1);
  if (group->rank() == 0)
    fmt::print("{} ranks, median milliseconds of the slowest rank\n{:>10} {:>12} {:>12} {:>6} {:>12}\n",
               group->size(), "bytes", "MPI", "trainyard", "ratio", "threads");
  for (const std::size_t bytes : sizes) trainyard::compare(*group, bytes, rounds);
  return 0;
}
