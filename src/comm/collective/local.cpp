#include "comm/collective/local.h"

#include "base/error.h"
#include "base/parallel.h"

namespace trainyard::comm::collective {
namespace {

constexpr std::int64_t kGrain = 1 << 14;
// A block of partial sums stays in the first cache while the sources are added one after the other.
constexpr std::size_t kBlock = 1 << 11;

// The most frequent case in one pass.
void mean_of_pair(std::span<const std::span<float>> sources, std::size_t begin, std::size_t count,
                  float factor, float* dst) {
  const float *a = sources[0].data() + begin, *b = sources[1].data() + begin;
  for (std::size_t i = 0; i < count; ++i) dst[begin + i] = (a[i] + b[i]) * factor;
}

void mean_of_block(std::span<const std::span<float>> sources, std::size_t begin, std::size_t count,
                   float factor, float* dst) {
  if (sources.size() == 2) return mean_of_pair(sources, begin, count, factor, dst);
  float sums[kBlock];
  std::memcpy(sums, sources.front().data() + begin, count * sizeof(float));
  for (const std::span<float> source : sources.subspan(1)) {
    const float* from = source.data() + begin;
    for (std::size_t i = 0; i < count; ++i) sums[i] += from[i];
  }
  for (std::size_t i = 0; i < count; ++i) dst[begin + i] = sums[i] * factor;
}

void mean_of_range(std::span<const std::span<float>> sources, std::size_t begin, std::size_t end,
                   float* dst) {
  const float factor = 1.0f / static_cast<float>(sources.size());
  parallel_chunks(static_cast<std::int64_t>(end - begin), kGrain,
                  [&](std::int64_t from, std::int64_t to, int) {
                    const std::size_t last = begin + static_cast<std::size_t>(to);
                    for (std::size_t at = begin + static_cast<std::size_t>(from); at < last; at += kBlock)
                      mean_of_block(sources, at, std::min(kBlock, last - at), factor, dst);
                  });
}

}  // namespace

void mean_in_order(std::span<const std::span<float>> sources, std::span<float> dst) {
  mean_of_range(sources, 0, dst.size(), dst.data());
}

void copy_floats(std::span<const float> src, std::span<float> dst) {
  TRAINYARD_CHECK(src.size() == dst.size());
  parallel_chunks(static_cast<std::int64_t>(src.size()), kGrain,
                  [&](std::int64_t from, std::int64_t to, int) {
                    std::memcpy(dst.data() + from, src.data() + from,
                                static_cast<std::size_t>(to - from) * sizeof(float));
                  });
}

LocalGroup::LocalGroup(int ranks) : spans_(static_cast<std::size_t>(ranks)) { TRAINYARD_CHECK(ranks >= 1); }

void LocalGroup::barrier() {
  const unsigned round = round_.load();
  if (arrived_.fetch_add(1) + 1 == size()) {
    arrived_.store(0);
    round_.fetch_add(1);
    round_.notify_all();
  } else {
    while (round_.load() == round && !aborted_.load()) round_.wait(round);
  }
  if (aborted_.load()) fail(ErrorKind::peer, "another rank gave up");
}

void LocalGroup::abort() {
  aborted_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
}

void LocalGroup::publish(int rank, std::span<float> values) {
  spans_[static_cast<std::size_t>(rank)] = values;
  barrier();
  TRAINYARD_CHECK(spans_.front().size() == values.size());
}

void LocalGroup::broadcast(int rank, int root, std::span<float> values) {
  publish(rank, values);
  if (rank != root) copy_floats(spans_[static_cast<std::size_t>(root)], values);
  barrier();
}

void LocalGroup::broadcast(int rank, int root, std::span<std::byte> bytes) {
  if (rank == root) bytes_ = bytes;
  barrier();
  TRAINYARD_CHECK(bytes_.size() == bytes.size());
  if (rank != root && !bytes.empty()) std::memcpy(bytes.data(), bytes_.data(), bytes.size());
  barrier();
}

void LocalGroup::reduce_mean(int rank, int root, std::span<float> values) {
  publish(rank, values);
  if (rank == root) mean_in_order(spans_, values);
  barrier();
}

void LocalGroup::all_reduce_mean(int rank, std::span<float> values) {
  publish(rank, values);
  const auto slice = [&](int owner) {
    return values.size() * static_cast<std::size_t>(owner) / static_cast<std::size_t>(size());
  };
  // Each rank reduces one slice and writes it into its own memory alone; then everybody collects the slices.
  mean_of_range(spans_, slice(rank), slice(rank + 1), values.data());
  barrier();
  for (int owner = 0; owner < size(); ++owner)
    if (owner != rank)
      copy_floats(
          spans_[static_cast<std::size_t>(owner)].subspan(slice(owner), slice(owner + 1) - slice(owner)),
          values.subspan(slice(owner), slice(owner + 1) - slice(owner)));
  barrier();
}

}  // namespace trainyard::comm::collective
