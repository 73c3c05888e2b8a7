#pragma once

#include <atomic>

#include "comm/collective/collective.h"

namespace trainyard::comm::collective {

// The ranks of this group are threads of this process and read each other's memory. Every rank calls the same
// operations in the same order, with spans of one length; each operation ends for all ranks together. Sums
// are taken in the order of ranks, so results do not depend on timing. Allocates nothing after construction.
class LocalGroup {
 public:
  explicit LocalGroup(int ranks);

  int size() const { return static_cast<int>(spans_.size()); }

  void barrier();
  // Every rank gets root's values.
  void broadcast(int rank, int root, std::span<float> values);
  void broadcast(int rank, int root, std::span<std::byte> bytes);
  // Root gets the mean over all ranks; the others keep theirs.
  void reduce_mean(int rank, int root, std::span<float> values);
  // Every rank gets the mean over all ranks, bit for bit the same.
  void all_reduce_mean(int rank, std::span<float> values);

  // A rank that cannot go on calls this: every call, waiting or to come, of any rank ends with an Error
  // (peer).
  void abort();

 private:
  void publish(int rank, std::span<float> values);

  std::vector<std::span<float>> spans_;  // by rank, during an operation
  std::span<std::byte> bytes_;           // the root's, during a broadcast
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> aborted_{false};
};

// A LocalRank is one rank of such a group, for what does not care where ranks live.
class LocalRank final : public Collective {
 public:
  // The group must outlive it.
  LocalRank(LocalGroup& group, int rank) : group_(group), rank_(rank) {}

  const char* name() const override { return "local"; }
  int rank() const override { return rank_; }
  int size() const override { return group_.size(); }
  void barrier() override { group_.barrier(); }
  using Collective::broadcast;
  void broadcast(int root, std::span<std::byte> bytes) override { group_.broadcast(rank_, root, bytes); }
  void all_reduce_mean(std::span<float> values) override { group_.all_reduce_mean(rank_, values); }
  void abort(int) override { group_.abort(); }

 private:
  LocalGroup& group_;
  int rank_;
};

// dst[i] = mean over sources[..][i], added in their order. dst may be one of the sources.
void mean_in_order(std::span<const std::span<float>> sources, std::span<float> dst);

// Copies on all threads of the caller's pool.
void copy_floats(std::span<const float> src, std::span<float> dst);

}  // namespace trainyard::comm::collective
