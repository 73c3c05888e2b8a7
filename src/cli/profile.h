#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

std::function<int()> declare_profile(CLI::App& command);

}  // namespace trainyard::cli
