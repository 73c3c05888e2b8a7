#include "ps/applier.h"

#include <utility>

namespace trainyard::ps {

Applier::Applier(comm::transport::Loop& loop, Shard& shard, Updater& updater)
    : loop_(loop), shard_(shard), updater_(updater), thread_([this] { run(); }) {}

Applier::~Applier() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Applier::apply(Mode::Gradient gradient, std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(gradient), std::move(done)});
  }
  changed_.notify_all();
}

void Applier::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
}

void Applier::run() {
  while (true) {
    Waiting next;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      changed_.notify_all();
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      busy_ = true;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    shard_.apply(updater_, next.gradient->values, 1);
    next.gradient.reset();
    loop_.post([done = std::move(next.done), alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) done();
    });
  }
}

}  // namespace trainyard::ps
