#pragma once

#include <string>

#include "predict/device.h"
#include "predict/json_members.h"

namespace trainyard::predict {

// A device in the header of a model: a JSON object, as text, and back. Error (config) names what is missing
// or out of bounds.
std::string device_to_json(const Device& device);
Device parse_device(const JsonMembers& members);

}  // namespace trainyard::predict
