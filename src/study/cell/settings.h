#pragma once

#include "networks/generator/parameter.h"
#include "predict/analytic/predictor.h"
#include "record/value.h"

namespace trainyard::study {

// Returns a number among the settings, or `otherwise` when it is not given.
double setting_number(const record::Settings& settings, const std::string& name, double otherwise);

// Returns the parameters of a generated network that the settings give.
networks::generator::Given parameters_in(const record::Settings& settings);

// Returns the number of training images of a data set that lies in files, and nothing for any other data set.
std::optional<std::int64_t> training_images_in_files(const std::string& dataset);

// "" when a model of training on one device can be asked for a run with these settings, else why it cannot.
std::string why_not_predicted(const std::string& run, const record::Settings& settings);

// The run as a model is asked for it; what the settings leave out is the command's default.
// REQUIRES: why_not_predicted() is "". Error (config, usage) names what no model knows.
predict::JobDescription describe_cell(const std::string& run, const record::Settings& settings,
                                      const predict::DeviceSheet& device);

// Returns the number of steps of that run that come before the timed ones.
double warmup_steps_of(const std::string& run, const record::Settings& settings);

std::string setting_text(const record::Settings& settings, const std::string& name);  // "" when it has none

}  // namespace trainyard::study
