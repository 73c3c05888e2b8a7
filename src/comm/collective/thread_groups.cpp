#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "comm/collective/collective.h"

namespace trainyard::comm::collective {
namespace {

// Ranks of one group meet here: each deposits its data, reads what it needs, and leaves when all have read.
class Meeting {
 public:
  Meeting(std::vector<int> ranks, double patience_seconds)
      : ranks_(std::move(ranks)), patience_(patience_seconds), laid_(ranks_.size()), here_(ranks_.size()) {}

  const std::vector<int>& ranks() const { return ranks_; }

  // `take` sees what every rank laid down.
  template <typename Take>
  void meet(int rank, std::span<const std::byte> own, const Take& take) {
    std::unique_lock lock(mutex_);
    const auto mine = static_cast<std::size_t>(rank);
    wait(lock, [&] { return !here_[mine]; });  // all have left the meeting before
    laid_[mine] = own;
    here_[mine] = true;
    ++came_;
    changed_.notify_all();
    wait(lock, [&] { return came_ == ranks_.size(); });
    lock.unlock();
    take(laid_);
    lock.lock();
    if (++left_ == ranks_.size()) {
      came_ = left_ = 0;
      std::fill(here_.begin(), here_.end(), false);
    }
    changed_.notify_all();
    wait(lock, [&] { return !here_[mine]; });  // others still read what is mine
  }

 private:
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    if (changed_.wait_for(lock, std::chrono::duration<double>(patience_), ready)) return;
    std::vector<int> missing;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (!here_[i]) missing.push_back(ranks_[i]);
    fail(ErrorKind::peer, "rank {} {} for {:.3g} s", joined(missing, ", "), kDidNotTakePart, patience_);
  }

  const std::vector<int> ranks_;
  const double patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::span<const std::byte>> laid_;
  std::vector<bool> here_;
  std::size_t came_ = 0, left_ = 0;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->ranks().size()); }

  void broadcast(int root, std::span<std::byte> bytes) override {
    meeting_->meet(rank_, bytes, [&](const auto& laid) {
      const std::span<const std::byte> from = laid[static_cast<std::size_t>(root)];
      TRAINYARD_CHECK(from.size() == bytes.size());
      if (rank_ != root && !bytes.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
    });
  }
  void all_gather(std::span<const std::byte> own, std::span<const std::span<std::byte>> to) override {
    meeting_->meet(rank_, own, [&](const auto& laid) {
      for (std::size_t r = 0; r < laid.size(); ++r) {
        if (static_cast<int>(r) == rank_ || laid[r].empty()) continue;
        TRAINYARD_CHECK(to[r].size() == laid[r].size());
        std::memcpy(to[r].data(), laid[r].data(), laid[r].size());
      }
    });
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

// Meetings holds the meetings of a job, by the number of the group: all ranks make groups in one order.
struct Meetings {
  std::mutex mutex;
  std::vector<std::shared_ptr<Meeting>> made;
};

class ThreadJob final : public Job {
 public:
  ThreadJob(Meetings& meetings, int rank, int size) : meetings_(meetings), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Group> make_group(const std::vector<int>& ranks, double patience_seconds) override {
    const std::size_t number = groups_++;
    const std::lock_guard lock(meetings_.mutex);
    if (number == meetings_.made.size())
      meetings_.made.push_back(std::make_shared<Meeting>(ranks, patience_seconds));
    const auto found = std::find(ranks.begin(), ranks.end(), rank_);
    if (found == ranks.end()) return nullptr;
    return std::make_unique<ThreadGroup>(meetings_.made[number], static_cast<int>(found - ranks.begin()));
  }

 private:
  Meetings& meetings_;
  int rank_, size_;
  std::size_t groups_ = 0;
};

}  // namespace

void run_thread_job(int size, const std::function<void(Job&)>& work) {
  Meetings meetings;
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        ThreadJob job(meetings, rank, size);
        work(job);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  ranks.clear();
  if (first) std::rethrow_exception(first);
}

}  // namespace trainyard::comm::collective
