#pragma once

#include "base/standard.h"

namespace trainyard {

// DeviceSpec says where a run computes. Options, studies and records hold it as text: "cpu", "cuda" or
// "cuda:1". Without a number, ranks that share a machine take its GPUs in turn, and any other run takes the
// first.
struct DeviceSpec {
  enum class Kind : std::uint8_t { cpu, cuda };

  Kind kind = Kind::cpu;
  std::optional<int> number{};  // of the GPU

  static DeviceSpec cpu() { return {}; }
  static DeviceSpec cuda(std::optional<int> number = std::nullopt) { return {Kind::cuda, number}; }
  // Throws Error (usage) for any other text.
  static DeviceSpec parse(std::string_view text);
  // For text that others wrote: nothing where it names no device.
  static std::optional<DeviceSpec> find(std::string_view text);

  bool is_cpu() const { return kind == Kind::cpu; }
  bool is_gpu() const { return !is_cpu(); }
  int gpu() const { return number.value_or(0); }
  // Returns the device of the rank that is so many-th on its machine, from 0.
  DeviceSpec of_rank(int on_machine) const { return is_cpu() || number ? *this : cuda(on_machine); }

  std::string to_string() const;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// Returns true where the text names a GPU.
inline bool names_gpu(std::string_view text) {
  const std::optional<DeviceSpec> device = DeviceSpec::find(text);
  return device && device->is_gpu();
}

}  // namespace trainyard
