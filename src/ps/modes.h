#pragma once

#include "ps/mode.h"

// One function a mode, each in the file of its name.
namespace trainyard::ps {

std::unique_ptr<Mode> make_bsp(Mode::Host& host, std::int64_t elements, bool mean);
std::unique_ptr<Mode> make_asp(Mode::Host& host);
std::unique_ptr<Mode> make_ssp(Mode::Host& host, int bound);
std::unique_ptr<Mode> make_lazy(Mode::Host& host, int most_waiting);
std::unique_ptr<Mode> make_hogwild(Mode::Host& host);

}  // namespace trainyard::ps
