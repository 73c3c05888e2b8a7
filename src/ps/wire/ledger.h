#pragma once

#include "base/standard.h"

namespace trainyard::ps {

// A gradient of a worker; made of which batch.
struct Counted {
  std::int64_t update = 0;  // that it is part of
  std::int64_t batch = 0;
  std::uint64_t clock = 0;
  std::uint32_t worker = 0;

  bool operator==(const Counted&) const = default;
};

// Records which work counts: the gradients that every update is made of, and the batches that are used. It is
// plain memory of a fixed size, so a copy of it is all that has to be kept. All servers of a run have the
// same ledger; after a fault, a server that has less is told the rest.
class Ledger {
 public:
  static constexpr int kMostWorkers = 512;
  static constexpr std::int64_t kRecent = 2048;  // gradients of which each is known; of older ones the sum
  static constexpr int kMostLoose = 2048;

  // Starts from the state of an earlier run: so many updates, with all batches before `next_batch` used
  // except the loose ones.
  void begin(std::int64_t updates, std::int64_t next_batch, std::span<const std::int64_t> loose);

  // One more update, of these gradients; their `update` is set here. REQUIRES: the next of each worker.
  void add_update(std::span<Counted> gradients);

  // Returns false for memory that never was a ledger.
  bool is_sound() const {
    return updates_ >= 0 && gradients_ >= 0 && next_batch_ >= 0 && loose_count_ >= 0 &&
           loose_count_ <= kMostLoose;
  }

  std::int64_t updates() const { return updates_; }
  std::int64_t gradients() const { return gradients_; }
  // Returns the clock of the gradient that the worker makes next.
  std::uint64_t next_clock(std::uint32_t worker) const { return next_clocks_[worker]; }
  // The gradients of all updates from `update` on, in their order. REQUIRES: they are still known.
  std::vector<Counted> since(std::int64_t update) const;

  std::int64_t next_batch() const { return next_batch_; }
  // Batches before it that are not used.
  std::span<const std::int64_t> loose() const {
    return {loose_.data(), static_cast<std::size_t>(loose_count_)};
  }

 private:
  void use_batch(std::int64_t batch);

  std::int64_t updates_ = 0, gradients_ = 0, next_batch_ = 0, loose_count_ = 0;
  std::array<std::uint64_t, kMostWorkers> next_clocks_{};
  std::array<Counted, kRecent> recent_{};  // a ring, by the number of the gradient
  std::array<std::int64_t, kMostLoose> loose_{};
};

}  // namespace trainyard::ps
