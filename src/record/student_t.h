#pragma once

namespace trainyard::record {

// Student's distribution; `freedom` > 0 may be fractional (Welch), and infinity gives the normal one.

// P(|T| >= |t|).
double two_sided_p(double t, double freedom);

// The t with P(T <= t) = probability, 0 < probability < 1.
double t_quantile(double probability, double freedom);

}  // namespace trainyard::record
