#pragma once

// The facts that the GPU of fake_nvml.cpp reports of itself.
namespace trainyard::fake_gpu {

struct Level {
  unsigned busy_percent, memory_busy_percent;
  unsigned long long memory_bytes;
  unsigned milliwatts;
};

inline constexpr Level kBusy{95, 60, 15ULL << 30, 300'000}, kIdle{4, 1, 1ULL << 30, 60'000};
inline constexpr unsigned long long kMemoryBytes = 16ULL << 30, kProcessBytes = 2ULL << 30;

}  // namespace trainyard::fake_gpu
