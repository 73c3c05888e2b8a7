#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

// trainyard serve-params
std::function<int()> declare_serve_params(CLI::App& command);

}  // namespace trainyard::cli
