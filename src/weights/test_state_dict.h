#pragma once

#include "base/standard.h"

// For tests only.

namespace trainyard::weights {

// Makes a zip archive of stored entries, as torch.save writes it.
std::string make_zip(const std::vector<std::pair<std::string, std::string>>& entries);
// The same with all sizes and places where those beyond 4 GiB are.
std::string make_wide_zip(const std::vector<std::pair<std::string, std::string>>& entries);

// These make pieces of a pickle of protocol 2.
std::string pickled_text(const std::string& text);
std::string pickled_number(int number);
std::string pickled_numbers(const std::vector<int>& numbers);  // a tuple
// Pickles a tensor of a storage of `elements` floats.
std::string pickled_tensor(const std::string& storage, int elements, int offset,
                           const std::vector<int>& shape, const std::vector<int>& strides);
// Pickles an OrderedDict of names and pickled tensors, with _metadata set at its end.
std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items);

// Returns the bytes of floats first, first + 1, ...
std::string float_bytes(int count, float first);

// Makes "weight" (2, 3) of the numbers 1 to 6, and "bias" (3), every second of 10 to 15.
std::string small_state_dict();

// Makes the state dict of a network with Driple's 18 tensors, 12 outputs, and `hidden` in place of 64.
std::string driple_state_dict(int hidden);

}  // namespace trainyard::weights
