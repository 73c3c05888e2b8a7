#include "serve/arrivals.h"

#include <charconv>

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::serve {

namespace {

constexpr double kMostRate = 1e9;
constexpr std::int64_t kMostClients = 1'000'000;

// Returns the number that is all of the text; nothing where there is none.
template <typename T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Arrivals Arrivals::parse(const std::string& text) {
  constexpr std::string_view kPoisson = "poisson:", kClosed = "closed:";
  if (text.starts_with(kPoisson)) {
    const std::optional<double> rate = number_in<double>(std::string_view(text).substr(kPoisson.size()));
    if (rate && *rate > 0 && *rate <= kMostRate) return {.rate = *rate};
    fail(ErrorKind::usage, "{} {}: requests a second are wanted, a number above 0 and up to {:g}",
         Setting{"arrivals"}, text, kMostRate);
  }
  if (text.starts_with(kClosed)) {
    const auto clients = number_in<std::int64_t>(std::string_view(text).substr(kClosed.size()));
    if (clients && *clients >= 1 && *clients <= kMostClients) return {.clients = *clients};
    fail(ErrorKind::usage, "{} {}: a number of clients is wanted, from 1 to {}", Setting{"arrivals"}, text,
         kMostClients);
  }
  fail(ErrorKind::usage, "{} '{}': poisson:RATE or closed:N is wanted", Setting{"arrivals"}, text);
}

double PoissonTimes::next() {
  // The middle of what a word stands for is never 0, whose logarithm is not finite.
  const double share =
      (static_cast<double>(Philox(seed_, stream_of("arrivals")).word(number_++)) + 0.5) * 0x1p-32;
  return last_ += -std::log(share) / rate_;
}

}  // namespace trainyard::serve
