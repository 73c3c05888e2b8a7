#pragma once

#include "backend/device.h"

namespace trainyard::conformance {

// Host memory as a device's kernels see it: the memory itself, or a copy on the device.
class StagedBuffer {
 public:
  StagedBuffer(const std::shared_ptr<backend::Device>& device, std::byte* host, std::size_t bytes)
      : device_(device), host_(host), bytes_(bytes) {
    if (device->is_host() || bytes == 0) return;
    copy_ = backend::DeviceMemory(device, bytes);
    device->write(copy_.data(), host, bytes);
  }

  std::byte* data() const { return device_->is_host() ? host_ : copy_.data(); }
  // Waits for the device and brings back what its kernels wrote.
  void fetch() const {
    if (!device_->is_host()) device_->read(copy_.data(), host_, bytes_);
  }

 private:
  std::shared_ptr<backend::Device> device_;
  std::byte* host_;
  std::size_t bytes_;
  backend::DeviceMemory copy_;
};

}  // namespace trainyard::conformance
