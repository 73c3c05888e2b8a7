#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace trainyard {

// Dimensions in logical order: images are (batch, channel, row, column), convolution weights (output channel,
// input channel of the group, row, column). The physical order is a Layout's business.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  // What to_string() made. Error (config).
  static Shape parse(std::string_view text);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  void append(std::int64_t dim);
  std::int64_t elements() const;  // 1 for a scalar (rank 0)
  std::int64_t elements_from(int axis) const;
  std::string to_string() const;  // "128x3x24x24", "scalar"

  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace trainyard
