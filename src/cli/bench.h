#pragma once

#include <cstdint>
#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

// Of a bench that is not told otherwise.
inline constexpr std::int64_t kBenchSteps = 50, kBenchWarmupSteps = 5;

std::function<int()> declare_bench(CLI::App& command);

}  // namespace trainyard::cli
