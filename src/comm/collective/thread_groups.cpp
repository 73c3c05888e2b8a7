#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/threads.h"
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
  void meet(int rank, std::span<const std::byte> own, const Take& take) TRAINYARD_EXCLUDES(mutex_) {
    const auto mine = static_cast<std::size_t>(rank);
    MutexLock lock(mutex_);
    for (const double end = deadline(); here_[mine];)
      wait(lock, end);  // until all have left the meeting before
    laid_[mine] = own;
    here_[mine] = true;
    ++came_;
    changed_.notify_all();
    for (const double end = deadline(); came_ != ranks_.size();) wait(lock, end);
    lock.unlock();
    take(laid_);
    lock.lock();
    if (++left_ == ranks_.size()) {
      came_ = left_ = 0;
      std::fill(here_.begin(), here_.end(), false);
    }
    changed_.notify_all();
    for (const double end = deadline(); here_[mine];) wait(lock, end);  // while others read what is mine
  }

 private:
  double deadline() const { return now_seconds() + patience_; }
  void wait(MutexLock& lock, double deadline) TRAINYARD_REQUIRES(mutex_) {
    if (now_seconds() < deadline) return static_cast<void>(changed_.wait_until(lock, deadline));
    std::vector<int> missing;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (!here_[i]) missing.push_back(ranks_[i]);
    fail(ErrorKind::peer, "rank {} {} for {:.3g} s", joined(missing, ", "), kDidNotTakePart, patience_);
  }

  const std::vector<int> ranks_;
  const double patience_;
  Mutex mutex_;
  ConditionVariable changed_;
  // Each rank's is its own to write before it says that it is here, and anybody's to read until all have
  // left.
  std::vector<std::span<const std::byte>> laid_;
  std::vector<bool> here_ TRAINYARD_GUARDED_BY(mutex_);
  std::size_t came_ TRAINYARD_GUARDED_BY(mutex_) = 0, left_ TRAINYARD_GUARDED_BY(mutex_) = 0;
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
  Mutex mutex;
  std::vector<std::shared_ptr<Meeting>> made TRAINYARD_GUARDED_BY(mutex);
};

class ThreadJob final : public Job {
 public:
  ThreadJob(Meetings& meetings, int rank, int size) : meetings_(meetings), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Group> make_group(const std::vector<int>& ranks, double patience_seconds) override {
    const std::size_t number = groups_++;
    const MutexLock lock(meetings_.mutex);
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
  FirstError first;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        ThreadJob job(meetings, rank, size);
        work(job);
      } catch (...) {
        first.keep_current();
      }
    });
  ranks.clear();
  first.rethrow();
}

}  // namespace trainyard::comm::collective
