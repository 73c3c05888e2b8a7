#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "comm/transport/loop.h"
#include "ps/mode.h"
#include "ps/shard.h"

namespace trainyard::ps {

// A thread that updates a shard beside the one that talks.
class Applier {
 public:
  Applier(comm::transport::Loop& loop, Shard& shard, Updater& updater);
  ~Applier();  // after the update that is under way; the others are not made
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // In the order of the calls; `done` is called on the loop, unless the applier is gone by then.
  void apply(Mode::Gradient gradient, std::function<void()> done);
  // Until all of it is applied.
  void finish();

 private:
  struct Waiting {
    Mode::Gradient gradient;
    std::function<void()> done;
  };
  void run();

  comm::transport::Loop& loop_;
  Shard& shard_;
  Updater& updater_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool ending_ = false, busy_ = false;
  std::thread thread_;
};

}  // namespace trainyard::ps
