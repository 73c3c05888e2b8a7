#pragma once

#include "base/error.h"
#include "base/mutex.h"

namespace trainyard::ps {

// Numbers in memory that somebody else owns.
struct Buffer {
  std::span<float> values;
  int number = 0;  // among those of its pool
};

// Arrays of one length that are used again. The last holder of one gives it back, on any thread.
class BufferPool {
 public:
  // `owner` keeps the memory as long as buffers live, which may be longer than the pool. `returned` is called
  // when one comes back, on the thread that it comes from.
  explicit BufferPool(const std::vector<std::span<float>>& memory, std::shared_ptr<void> owner = {},
                      std::function<void(int number)> returned = {}) {
    free_->owner = std::move(owner);
    free_->returned = std::move(returned);
    const MutexLock lock(free_->mutex);
    for (const std::span<float> values : memory)
      free_->buffers.push_back(
          std::make_unique<Buffer>(Buffer{values, static_cast<int>(free_->buffers.size())}));
  }

  // Takes a buffer with any content. Error (internal) when all are in use.
  std::shared_ptr<Buffer> take() { return take_at(-1); }
  // Takes the buffer of this number. REQUIRES: it is free.
  std::shared_ptr<Buffer> take(int number) { return take_at(number); }

 private:
  struct Free {
    std::shared_ptr<void> owner;
    std::function<void(int)> returned;
    Mutex mutex;
    std::vector<std::unique_ptr<Buffer>> buffers TRAINYARD_GUARDED_BY(mutex);
  };

  std::shared_ptr<Buffer> take_at(int number) {
    std::unique_ptr<Buffer> buffer;
    {
      const MutexLock lock(free_->mutex);
      for (std::size_t i = free_->buffers.size(); i-- > 0 && buffer == nullptr;)
        if (number < 0 || free_->buffers[i]->number == number) {
          buffer = std::move(free_->buffers[i]);
          free_->buffers.erase(free_->buffers.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    TRAINYARD_CHECK(buffer != nullptr);
    return {buffer.release(), [free = free_](Buffer* returned) {
              std::unique_ptr<Buffer> owned(returned);
              if (free->returned) free->returned(owned->number);
              const MutexLock lock(free->mutex);
              free->buffers.push_back(std::move(owned));
            }};
  }

  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace trainyard::ps
