#include "meter/peaks.h"

#include <atomic>

#include "base/clock.h"
#include "base/parallel.h"

namespace trainyard::meter {
namespace {

// Best rate of repeated calls of `body`, each doing `amount` of work.
template <typename Body>
double best_rate(double seconds, double amount, const Body& body) {
  double best = 0;
  const double end = now_seconds() + seconds;
  do {
    const double start = now_seconds();
    body();
    best = std::max(best, amount / (now_seconds() - start));
  } while (now_seconds() < end);
  return best;
}

// Enough independent chains to hide the latency of two multiply-add units.
template <typename T, int kLanes>
double fma_rate(double seconds) {
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
  constexpr int kChains = 12;
  constexpr std::int64_t kRounds = 2'000'000;
  const int threads = thread_count();
  std::vector<T> sink(static_cast<std::size_t>(threads) * 64);
  return best_rate(seconds, 2.0 * kLanes * kChains * kRounds * threads, [&] {
    parallel_chunks(threads, 1, [&](std::int64_t, std::int64_t, int thread) {
      Vector chain[kChains];
      for (int c = 0; c < kChains; ++c) chain[c] = Vector{} + static_cast<T>(c);
      const Vector factor = Vector{} + static_cast<T>(0.999), term = Vector{} + static_cast<T>(0.001);
      for (std::int64_t i = 0; i < kRounds; ++i)
        for (int c = 0; c < kChains; ++c) chain[c] = chain[c] * factor + term;
      Vector sum{};
      for (int c = 0; c < kChains; ++c) sum += chain[c];
      std::memcpy(&sink[static_cast<std::size_t>(thread) * 64], &sum, sizeof sum);
    });
  });
}

constexpr std::int64_t kArrayFloats = std::int64_t{48} << 20;  // 192 MiB each

#ifdef __AVX512F__
constexpr int kVectorBytes = 64;
#else
constexpr int kVectorBytes = 32;
#endif

struct alignas(64) CacheLine {
  float floats[16];
};

struct Arrays {
  std::unique_ptr<CacheLine[]> memory = std::make_unique_for_overwrite<CacheLine[]>(3 * kArrayFloats / 16);
  float *a, *b, *c;
  Arrays() {
    a = memory[0].floats;
    b = a + kArrayFloats;
    c = b + kArrayFloats;
    parallel_chunks(kArrayFloats, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] = c[i] = 1;
    });
  }
};

}  // namespace

double f32_fma_flops_per_second(double seconds) { return fma_rate<float, kVectorBytes / 4>(seconds); }
double f64_fma_flops_per_second(double seconds) { return fma_rate<double, kVectorBytes / 8>(seconds); }

// Each launch is timed by itself, so that some fall between other activity of this machine.
double launch_seconds(double seconds) {
  std::vector<CacheLine> seen(
      static_cast<std::size_t>(thread_count()));  // or there would be nothing to start
  return 1 / best_rate(seconds, 1, [&] {
           parallel_chunks(thread_count(), 1, [&](std::int64_t, std::int64_t, int thread) {
             seen[static_cast<std::size_t>(thread)].floats[0] += 1;
           });
         });
}

// The threads pass a token around. A lap in which other processes delay a thread is discarded.
double handoff_seconds(double seconds) {
  constexpr int kHandoffs = 400;
  constexpr double kLongestLapSeconds = 0.002;
  constexpr double kPatience = 6;  // as long again, while no lap went through
  const int threads = thread_count();
  if (threads == 1) return 0;
  const int rounds = std::max(kHandoffs / threads, 4);
  alignas(64) std::atomic<int> turn;
  std::atomic<bool> held_up;
  double best = 0;
  const double begin = now_seconds();
  for (double start = begin; start < begin + (best > 0 ? 1 : kPatience) * seconds; start = now_seconds()) {
    turn = 0;
    held_up = false;
    const double deadline = start + kLongestLapSeconds;
    parallel_chunks(threads, 1, [&](std::int64_t thread, std::int64_t, int) {
      for (int round = 0; round < rounds && !held_up; ++round) {
        const int mine = round * threads + static_cast<int>(thread);
        for (int looks = 1; turn.load(std::memory_order_acquire) != mine; ++looks)
          if (looks % 1024 == 0 && now_seconds() > deadline) {
            held_up = true;
            return;
          }
        turn.store(mine + 1, std::memory_order_release);
      }
    });
    const double each = (now_seconds() - start) / (rounds * threads);
    if (!held_up && (best == 0 || each < best)) best = each;
  }
  return best;
}

double copy_bytes_per_second(double seconds) {
  const Arrays arrays;
  return best_rate(seconds, 2.0 * kArrayFloats * sizeof(float), [&] {
    parallel_chunks(kArrayFloats, 1, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(arrays.a + begin, arrays.b + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
  });
}

double triad_bytes_per_second(double seconds) {
  const Arrays arrays;
  return best_rate(seconds, 3.0 * kArrayFloats * sizeof(float), [&] {
    parallel_chunks(kArrayFloats, 1, [&](std::int64_t begin, std::int64_t end, int) {
      float* __restrict a = arrays.a;
      const float *b = arrays.b, *c = arrays.c;
      for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5f * c[i];
    });
  });
}

double read_bytes_per_second(double seconds) {
  return read_bytes_per_second(seconds, kArrayFloats * static_cast<std::int64_t>(sizeof(float)));
}

double read_bytes_per_second(double seconds, std::int64_t bytes) {
  constexpr std::int64_t kBlock = 64,
                         kLeastFloats = std::int64_t{16} << 20;  // read between two looks at the clock
  const std::int64_t blocks = bytes / static_cast<std::int64_t>(sizeof(float)) / kBlock,
                     floats = blocks * kBlock;
  const std::int64_t rounds = (kLeastFloats + floats - 1) / floats;
  std::vector<CacheLine> memory(static_cast<std::size_t>(floats / 16));
  const float* array = memory[0].floats;
  std::vector<float> sink(static_cast<std::size_t>(thread_count()) * 16);
  const double amount = static_cast<double>(rounds * floats) * sizeof(float);
  return best_rate(seconds, amount, [&] {
    parallel_chunks(blocks, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      float lanes[kBlock] = {};
      for (std::int64_t round = 0; round < rounds; ++round)
        for (std::int64_t i = begin * kBlock; i < end * kBlock; i += kBlock)
          for (int l = 0; l < kBlock; ++l) lanes[l] += array[i + l];
      for (const float lane : lanes) sink[static_cast<std::size_t>(thread) * 16] += lane;
    });
  });
}

}  // namespace trainyard::meter
