#pragma once

namespace trainyard::record {

// Student's distribution; `freedom` > 0 may be fractional (Welch), and infinity gives the normal one.

// P(|T| >= |t|).
double two_sided_p(double t, double freedom);

// The t with P(T <= t) = probability, 0 < probability < 1.
double t_quantile(double probability, double freedom);

// P(F >= ratio) of the F distribution with these degrees of freedom, both positive.
double f_tail(double ratio, double numerator_freedom, double denominator_freedom);

}  // namespace trainyard::record
