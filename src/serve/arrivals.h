#pragma once

#include "base/standard.h"

namespace trainyard::serve {

// Arrivals says when requests are due. Those of an open process come whatever becomes of them, as those of
// many users who know nothing of each other; a closed one has so many clients, each of which waits for its
// answer before it sends again.
struct Arrivals {
  double rate = 0;           // a second; 0: closed
  std::int64_t clients = 0;  // of a closed process

  bool is_open() const { return rate > 0; }

  // "poisson:20.5" or "closed:8". Error (usage) says what is wrong.
  static Arrivals parse(const std::string& text);
};

// PoissonTimes are the moments, in seconds from the begin, at which requests of a Poisson process are due:
// the gaps are exponential. Request i is due at the same moment in every run of a seed.
class PoissonTimes {
 public:
  PoissonTimes(double rate, std::uint64_t seed) : rate_(rate), seed_(seed) {}

  double next();

 private:
  const double rate_;
  const std::uint64_t seed_;
  std::uint64_t number_ = 0;
  double last_ = 0;
};

}  // namespace trainyard::serve
