#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

std::function<int()> declare_bench(CLI::App& command);

}  // namespace trainyard::cli
