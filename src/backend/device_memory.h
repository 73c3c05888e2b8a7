#pragma once

#include <memory>
#include <utility>

#include "backend/device.h"

namespace trainyard::backend {

// Zeroed memory of a device. Movable, gives back on destruction; keeps the device.
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
