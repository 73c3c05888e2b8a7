#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace trainyard::ps {

// Arrays of one length that are used again. Whoever lets go of one last, on whatever thread, gives it back.
class BufferPool {
 public:
  using Buffer = std::vector<float>;

  explicit BufferPool(std::size_t elements) : elements_(elements) {}

  // With any content.
  std::shared_ptr<Buffer> take() {
    std::unique_ptr<Buffer> buffer;
    {
      const std::lock_guard lock(free_->mutex);
      if (!free_->buffers.empty()) {
        buffer = std::move(free_->buffers.back());
        free_->buffers.pop_back();
      }
    }
    if (buffer == nullptr) buffer = std::make_unique<Buffer>(elements_);
    return {buffer.release(), [free = free_](Buffer* returned) {
              std::unique_ptr<Buffer> owned(returned);
              const std::lock_guard lock(free->mutex);
              free->buffers.push_back(std::move(owned));
            }};
  }

 private:
  struct Free {
    std::mutex mutex;
    std::vector<std::unique_ptr<Buffer>> buffers;
  };

  std::size_t elements_;
  std::shared_ptr<Free> free_ = std::make_shared<Free>();  // buffers may outlive the pool
};

}  // namespace trainyard::ps
