#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/input.h"
#include "backend/step_context.h"
#include "tensor/dtype.h"

namespace trainyard::backend {

// Describes a device other than the host.
struct DeviceModel {
  std::string name;  // its maker's
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;
};

// Work that was recorded once and is started again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void launch() = 0;  // returns before the work is done
};

// Works that run one behind the other, without the host between them where the device can, and are timed.
class Timeline {
 public:
  virtual ~Timeline() = default;
  // Runs them and waits. When each began, and when the last ended, by the host's now_seconds(), as far as the
  // device's clock agrees with it.
  virtual std::vector<double> run() = 0;
};

// Memory that kernels work on, and the queue in which they run. The host is one: its queue is the caller.
// Used by one thread at a time. Error (device) says which call failed.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;                   // "cpu", "cuda:0"
  virtual bool is_host() const { return false; }          // the caller may follow its pointers
  virtual std::string pci_address() const { return ""; }  // "0000:1B:00.0"; "": it has none
  virtual DeviceModel model() const { return {}; }

  // Returns zeroed memory. Error (device) "out of memory" with the bytes asked and free.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual std::size_t free_bytes() const { return 0; }  // 0: not known
  virtual void release(std::byte* memory, std::size_t bytes) noexcept = 0;
  // Both run in the order of the queue. `from` may be changed when write() returns; `to` is filled when
  // read() does.
  virtual void write(std::byte* to, const void* from, std::size_t bytes) = 0;
  virtual void read(const std::byte* from, void* to, std::size_t bytes) = 0;
  virtual void clear(std::byte* to, std::size_t bytes);  // zeros
  // Returns the name by which another process on this device opens the same memory. "": memory of this device
  // cannot be shared. REQUIRES: `memory` is one of allocate().
  virtual std::string share(std::byte* /*memory*/) { return ""; }
  // Maps memory that another process shared. Error (device) when it cannot be mapped on this device or in
  // this process.
  virtual std::byte* open(const std::string& shared);
  virtual void close(std::byte* /*opened*/) noexcept {}
  virtual void wait() = 0;  // for all that was started
  // Makes a queue that copies while kernels run, with so many bytes of host memory to copy from; Error as
  // allocate()'s. Null: the device has write() alone.
  virtual std::unique_ptr<CopyQueue> make_copy_queue(int /*places*/, std::size_t /*host_bytes*/) {
    return nullptr;
  }
  // Content to time kernels on: about normal for floats, small numbers for integers.
  virtual void fill_random(std::byte* to, std::size_t elements, DType dtype) = 0;

  // Lanes are parallel queues, used while something is recorded. use_lane(): the next work goes to that lane.
  // mark_lane(): the mark stands for all work in this lane so far. wait_for_mark(): this lane continues after
  // the mark. join_lanes(): returns to lane 0, after the first so many lanes; when all are joined, no mark is
  // used again.
  virtual int lanes() const { return 1; }
  virtual void use_lane(int /*lane*/) {}
  virtual int mark_lane() { return 0; }
  virtual void wait_for_mark(int /*mark*/) {}
  virtual void join_lanes(int /*count*/) {}

  // Records what `enqueue` starts; null: this device starts kernels one by one.
  virtual std::unique_ptr<Recording> record(const std::function<void()>&) { return nullptr; }
  // Starts the end of a recorded step: notes loss and time at marks[step % count], then counts the step.
  virtual void mark_step(StepContext*, const float* /*loss*/, StepMark* /*marks*/, std::int64_t /*count*/) {}
  // Counts the step, in the lane in use.
  virtual void count_step(StepContext*) {}
  // Makes a timeline of works that run one after the other and are timed as Timeline says.
  using Works = std::vector<std::function<void()>>;
  virtual std::unique_ptr<Timeline> make_timeline(const Works& works);
  // Makes the device's clock agree with the host's; waits for all that was started.
  virtual void match_clocks() {}
  // Returns the seconds that what `enqueue` starts takes on the device, without the host's part.
  virtual double time(const std::function<void()>& enqueue) = 0;
};

// Returns the CPU with this process's memory; always the same object.
std::shared_ptr<Device> host_device();

// Owns zeroed memory of a device, frees it on destruction, and keeps the device alive. Movable.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::shared_ptr<Device> device, std::size_t bytes)
      : device_(std::move(device)), data_(device_->allocate(bytes)), bytes_(bytes) {}
  ~DeviceMemory() {
    if (data_ != nullptr) device_->release(data_, bytes_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Memory that another process shares. Keeps the device.
class OpenedMemory {
 public:
  OpenedMemory(std::shared_ptr<Device> device, const std::string& shared)
      : device_(std::move(device)), data_(device_->open(shared)) {}
  ~OpenedMemory() { device_->close(data_); }
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_;
};

}  // namespace trainyard::backend
