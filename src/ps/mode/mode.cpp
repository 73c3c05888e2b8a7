#include "ps/mode/mode.h"

#include <charconv>
#include <utility>

#include "base/error.h"

namespace trainyard::ps {

namespace {

// Gradients that a lazy server may still have to apply: more would only make them older.
constexpr int kMostWaiting = 8;

}  // namespace

ModeName ModeName::parse(const std::string& text) {
  if (text == "bsp" || text == "bsp:mean") return {.kind = Kind::bsp, .mean = true};
  if (text == "bsp:sum") return {.kind = Kind::bsp, .mean = false};
  if (text == "asp") return {.kind = Kind::asp};
  if (text == "lazy") return {.kind = Kind::lazy};
  if (text == "lazy-locked") return {.kind = Kind::lazy_locked};
  if (text == "hogwild") return {.kind = Kind::hogwild};
  if (text.starts_with("ssp:")) {
    ModeName name{.kind = Kind::ssp};
    const char *begin = text.data() + 4, *end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(begin, end, name.bound);
    if (error == std::errc{} && stopped == end && begin != end && name.bound >= 0) return name;
  }
  fail(ErrorKind::usage,
       "mode '{}' is not known; allowed are bsp, bsp:sum, asp, lazy, lazy-locked, hogwild and "
       "ssp:N with N "
       ">= 0",
       text);
}

std::vector<std::string> mode_words() {
  return {"bsp", "bsp:sum", "asp", "ssp:N", "lazy", "lazy-locked", "hogwild"};
}

std::string ModeName::to_string() const {
  switch (kind) {
    case Kind::bsp:
      return mean ? "bsp" : "bsp:sum";
    case Kind::asp:
      return "asp";
    case Kind::ssp:
      return fmt::format("ssp:{}", bound);
    case Kind::lazy:
      return "lazy";
    case Kind::lazy_locked:
      return "lazy-locked";
    case Kind::hogwild:
      return "hogwild";
  }
  return "?";
}

std::unique_ptr<Mode> make_mode(const ModeName& name, Mode::Host& host, std::int64_t elements) {
  switch (name.kind) {
    case ModeName::Kind::bsp:
      return make_bsp(host, elements, name.mean);
    case ModeName::Kind::asp:
      return make_asp(host);
    case ModeName::Kind::ssp:
      // Nobody ahead of anybody: rounds, with one update each as all gradients are of the same weights.
      return name.bound == 0 ? make_bsp(host, elements, true) : make_ssp(host, name.bound);
    case ModeName::Kind::lazy:
    case ModeName::Kind::lazy_locked:  // the same rule: they differ in how the host applies beside
      return make_lazy(host, kMostWaiting);
    case ModeName::Kind::hogwild:
      return make_hogwild(host);
  }
  return nullptr;
}

void FreeRunning::join(int worker) {
  if (started_)
    host_.release(worker);
  else
    held_.push_back(worker);
}

void FreeRunning::start() {
  started_ = true;
  const std::deque<int> released = std::exchange(held_, {});
  for (const int worker : released) host_.release(worker);
}

void FreeRunning::leave(int worker) { std::erase(held_, worker); }

}  // namespace trainyard::ps
