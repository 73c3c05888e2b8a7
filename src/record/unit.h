#pragma once

#include "base/standard.h"

namespace trainyard::record {

// Quantity says what a number counts; none: a share of one or a number of things, which have no unit.
enum class Quantity : std::uint8_t {
  none,
  seconds,
  bytes,
  joules,
  watts,
  hertz,
  megahertz,
  celsius,
  fraction,
  percent,
  flops,
  images,
  tokens,
  gradients,
  cores,
  requests
};

enum class Per : std::uint8_t { nothing, second, step, image, byte };

// Unit is the unit of a number: bytes, images per second.
struct Unit {
  Quantity quantity = Quantity::none;
  Per per = Per::nothing;

  constexpr bool is_time() const { return *this == Unit{Quantity::seconds}; }
  constexpr bool is_speed() const { return per == Per::second; }
  friend constexpr bool operator==(const Unit&, const Unit&) = default;
};

// For people: "seconds", "bytes/s", "joules/image"; "" where there is none.
std::string to_text(const Unit& unit);

// Returns the unit that a name ends with, as all our names do that have one: gpu0_power_watts,
// disk_read_bytes_per_second; "_before" and "_after" may follow. For names that nobody lists: columns of
// traces, facts of machines, figures of programs that are not ours.
Unit unit_in_name(std::string_view name);

// Returns the name without the unit at its end: gpu0_power.
std::string_view without_unit(std::string_view name);

// The units of figures, for their list.
namespace unit {

// NOLINTBEGIN(readability-identifier-naming): rows of the list read unit::seconds
inline constexpr Unit none{}, seconds{Quantity::seconds}, bytes{Quantity::bytes}, joules{Quantity::joules},
    watts{Quantity::watts}, hertz{Quantity::hertz}, celsius{Quantity::celsius}, fraction{Quantity::fraction},
    percent{Quantity::percent}, flops{Quantity::flops}, images{Quantity::images}, cores{Quantity::cores},
    tokens{Quantity::tokens}, requests{Quantity::requests},
    requests_per_second{Quantity::requests, Per::second}, images_per_second{Quantity::images, Per::second},
    tokens_per_second{Quantity::tokens, Per::second}, gradients_per_second{Quantity::gradients, Per::second},
    bytes_per_second{Quantity::bytes, Per::second}, flops_per_second{Quantity::flops, Per::second},
    seconds_per_step{Quantity::seconds, Per::step}, bytes_per_step{Quantity::bytes, Per::step},
    flops_per_step{Quantity::flops, Per::step}, seconds_per_image{Quantity::seconds, Per::image},
    joules_per_image{Quantity::joules, Per::image}, flops_per_byte{Quantity::flops, Per::byte};
// NOLINTEND(readability-identifier-naming)

}  // namespace unit

}  // namespace trainyard::record
