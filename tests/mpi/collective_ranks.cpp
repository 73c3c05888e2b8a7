// Every operation on MPI against what one process computes by itself. mpirun starts it with some ranks;
// whatever differs on any of them makes them all fail.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "comm/collective/local.h"

namespace trainyard::comm::collective {
namespace {

// Values whose sum depends on the order in which they are added.
std::vector<float> values_of(int rank, std::size_t length) {
  std::vector<float> values(length);
  for (std::size_t i = 0; i < length; ++i)
    values[i] = (rank % 2 == 0 ? 1e7f : -0.9e7f) +
                0.37f * static_cast<float>(i * static_cast<std::size_t>(rank + 1) % 1000);
  return values;
}

struct Expected {
  std::vector<float> mean;  // as threads compute it
  std::vector<double> exact, magnitude;
};

Expected expected_of(int ranks, std::size_t length) {
  std::vector<std::vector<float>> all;
  std::vector<std::span<float>> spans;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(values_of(rank, length));
  for (auto& each : all) spans.emplace_back(each);
  Expected expected{std::vector<float>(length), std::vector<double>(length), std::vector<double>(length)};
  mean_in_order(spans, expected.mean);
  for (std::size_t i = 0; i < length; ++i)
    for (const auto& each : all) {
      expected.exact[i] += static_cast<double>(each[i]) / ranks;
      expected.magnitude[i] += std::fabs(static_cast<double>(each[i])) / ranks;
    }
  return expected;
}

int wrong(const std::vector<float>& found, const Expected& expected, int ranks) {
  int count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::bit_cast<unsigned>(found[i]) != std::bit_cast<unsigned>(expected.mean[i])) ++count;
    // ranks - 1 additions and a product, half a unit in the last place each
    if (std::fabs(found[i] - expected.exact[i]) > 0x1p-24 * (ranks + 1) * expected.magnitude[i]) ++count;
  }
  return count;
}

int check_sums(Collective& group, std::size_t length) {
  const Expected expected = expected_of(group.size(), length);
  std::vector<float> whole = values_of(group.rank(), length), parts = whole;
  group.all_reduce_mean(whole);
  // From the end to the beginning, as gradients become known; parts of odd and of no length.
  std::size_t end = length;
  for (std::size_t part = 0; end > 0; ++part) {
    const std::size_t begin = part % 3 == 2 ? end : end - std::min(end, length / 7 + 1);
    group.start(std::span(parts).subspan(begin, end - begin));
    end = begin;
  }
  group.finish();
  return wrong(whole, expected, group.size()) + wrong(parts, expected, group.size());
}

int check_broadcast(Collective& group, std::size_t length) {
  int count = 0;
  for (int root = 0; root < group.size(); ++root) {
    std::vector<float> values = values_of(group.rank(), length);
    group.broadcast(root, values);
    count += values == values_of(root, length) ? 0 : 1;
  }
  return count;
}

// A rank that is ahead must not disturb one that still reads.
int check_in_a_row(Collective& group) {
  int count = 0;
  std::vector<float> values(64);
  for (int round = 0; round < 300; ++round) {
    std::fill(values.begin(), values.end(), static_cast<float>(round * group.size()));
    group.all_reduce_mean(values);
    for (const float value : values)
      count +=
          std::fabs(value - static_cast<float>(round * group.size())) > 1e-3f * static_cast<float>(round);
  }
  return count;
}

}  // namespace
}  // namespace trainyard::comm::collective

int main() {
  namespace collective = trainyard::comm::collective;
  const auto group = collective::join_mpi();
  int wrong = collective::check_in_a_row(*group);
  for (const std::size_t length : {0u, 1u, 2u, 7u, 1023u, 65537u, 1067501u}) {
    const int sums = collective::check_sums(*group, length),
              broadcasts = collective::check_broadcast(*group, length);
    if (sums + broadcasts > 0)
      std::fprintf(stderr, "rank %d of %d, %zu values: %d wrong means, %d wrong broadcasts\n", group->rank(),
                   group->size(), length, sums, broadcasts);
    wrong += sums + broadcasts;
  }
  group->barrier();
  return wrong == 0 ? 0 : 1;
}
