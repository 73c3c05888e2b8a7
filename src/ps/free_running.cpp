#include "ps/free_running.h"

#include <utility>

namespace trainyard::ps {

void FreeRunning::join(int worker) {
  if (started_)
    host_.release(worker);
  else
    held_.push_back(worker);
}

void FreeRunning::start() {
  started_ = true;
  const std::deque<int> released = std::exchange(held_, {});
  for (const int worker : released) host_.release(worker);
}

void FreeRunning::leave(int worker) { std::erase(held_, worker); }

}  // namespace trainyard::ps
