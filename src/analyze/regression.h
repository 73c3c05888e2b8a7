#pragma once

#include "analyze/point.h"
#include "stats/least_squares.h"

namespace trainyard::analyze {

// Returns the columns of a regression: the dimensions, and with order two also all products of two of them,
// squares included.
std::vector<std::string> feature_names(const std::vector<std::string>& dimensions, int order);

// Returns a row of features for each point. Throws Error (config) naming a dimension that a point lacks.
stats::Matrix feature_rows(std::span<const Point* const> points, const std::vector<std::string>& dimensions,
                           int order, bool logarithms);

// ColumnScaling gives columns mean 0 and deviation 1 over the rows; a column that does not vary becomes 0.
struct ColumnScaling {
  std::vector<double> means, deviations;  // population deviation; 0: does not vary
};
ColumnScaling scaling_of(const stats::Matrix& rows);
stats::Matrix standardised(const stats::Matrix& rows, const ColumnScaling& scaling);

// LogRegression is a power law: log2 of the metric as a linear (order 1) or quadratic (order 2) function of
// log2 of the dimensions. With order 1 a coefficient is the exponent of its dimension.
struct LogRegression {
  std::vector<std::string> features;
  std::vector<double> coefficients;
  double intercept = 0;
  double r2 = 0;                  // of the fit, in logarithms
  double cross_validated_r2 = 0;  // of points that were held out
  int folds = 0;
  std::size_t points = 0;
};

// Leaves out points whose metric is not positive. Throws Error (config) when fewer points than folds remain,
// or a dimension is not positive.
LogRegression fit_power_law(std::span<const Point> points, const std::vector<std::string>& dimensions,
                            const std::string& metric, int order, int folds = 10);

// Regression tells how a metric depends on the dimensions: weights of a linear model in which every variable
// has mean 0 and deviation 1, so that weights can be compared. A dimension that does not vary has weight 0.
struct Regression {
  std::vector<std::string> features;
  std::vector<double> weights;
  double r2 = 0;                   // share of the variance that it explains
  double mean_absolute_error = 0;  // in deviations of the metric
  std::size_t points = 0;
};

// Order 1 uses the dimensions, order 2 also all products of two. Throws Error (config) when fewer than two
// points have the metric, or a point lacks a dimension.
Regression standardised_weights(std::span<const Point> points, const std::vector<std::string>& dimensions,
                                const std::string& metric, int order);

// Classification predicts from the dimensions on which side of a threshold a metric falls. It is a logistic
// regression on standardised features, fitted by iteratively reweighted least squares.
struct Classification {
  std::vector<std::string> features;
  std::vector<double> weights;  // of the log odds, for one deviation of the feature
  double intercept = 0;
  double base_rate = 0;  // share of the points above the threshold
  double accuracy = 0, cross_validated_accuracy = 0;
  int folds = 0;
  std::size_t points = 0;
};

// A slight pull of the weights towards 0 keeps them finite where a feature separates the points completely.
// `logarithms` takes the logarithms of the dimensions. Throws Error (config) as fit_power_law does.
Classification classify_above(std::span<const Point> points, const std::vector<std::string>& dimensions,
                              const std::string& metric, double threshold, bool logarithms, int folds = 10);

}  // namespace trainyard::analyze
