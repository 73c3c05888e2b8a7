#pragma once

namespace CLI {
class App;
}

#include <functional>

#include "record/run_record.h"
#include "train/session/session.h"

namespace trainyard::cli {

std::function<int()> declare_probe(CLI::App& command);

}  // namespace trainyard::cli
