#include "predict/runs/packed_columns.h"

#include "data/get/gzip_file.h"

namespace trainyard::predict {
namespace {

// A position among so many numbers takes this many bytes.
std::size_t bytes_of_position(std::size_t numbers) {
  std::size_t bytes = 1;
  while (bytes < 8 && (numbers - 1) >> (8 * bytes) != 0) ++bytes;
  return bytes;
}

// Equal bits are one number: 0 and -0 are two.
bool before(double a, double b) {
  return a != b ? a < b : std::bit_cast<std::uint64_t>(a) < std::bit_cast<std::uint64_t>(b);
}

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void pack_column(const std::vector<double>& column, std::vector<std::byte>& bytes) {
  std::vector<double> different = column;
  std::sort(different.begin(), different.end(), before);
  const auto same = [](double a, double b) { return !before(a, b) && !before(b, a); };
  different.erase(std::unique(different.begin(), different.end(), same), different.end());
  const std::uint64_t count = different.size();
  append(bytes, std::as_bytes(std::span(&count, 1)));
  append(bytes, std::as_bytes(std::span<const double>(different)));
  if (column.empty()) return;
  std::vector<std::size_t> positions;
  for (const double number : column)
    positions.push_back(static_cast<std::size_t>(
        std::lower_bound(different.begin(), different.end(), number, before) - different.begin()));
  for (std::size_t plane = 0; plane < bytes_of_position(different.size()); ++plane)
    for (const std::size_t position : positions)
      bytes.push_back(static_cast<std::byte>(position >> (8 * plane) & 0xff));
}

// Taker hands out the next bytes.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) throw std::invalid_argument("packed columns that are cut short");
    const std::span<const std::byte> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<double> take_numbers(Taker& from) {
  std::uint64_t count = 0;
  std::memcpy(&count, from.take(sizeof count).data(), sizeof count);
  if (count > from.left() / sizeof(double)) throw std::invalid_argument("packed columns that are cut short");
  std::vector<double> numbers(static_cast<std::size_t>(count));
  const std::span<const std::byte> bytes = from.take(numbers.size() * sizeof(double));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

void unpack_column(Taker& from, std::span<double> rows, std::size_t column, std::size_t columns) {
  const std::vector<double> different = take_numbers(from);
  const std::size_t count = rows.size() / columns;
  if (count == 0) return;
  if (different.empty()) throw std::invalid_argument("a packed column without numbers");
  std::vector<std::size_t> positions(count, 0);
  for (std::size_t plane = 0; plane < bytes_of_position(different.size()); ++plane) {
    const std::span<const std::byte> bytes = from.take(count);
    for (std::size_t r = 0; r < count; ++r)
      positions[r] |= std::to_integer<std::size_t>(bytes[r]) << (8 * plane);
  }
  for (std::size_t r = 0; r < count; ++r) {
    if (positions[r] >= different.size()) throw std::invalid_argument("a packed number that is not there");
    rows[r * columns + column] = different[positions[r]];
  }
}

}  // namespace

std::vector<std::byte> pack_columns(std::span<const double> numbers, std::size_t columns) {
  std::vector<std::byte> bytes;
  std::vector<double> column(numbers.size() / columns);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < column.size(); ++r) column[r] = numbers[r * columns + c];
    pack_column(column, bytes);
  }
  return data::deflated(bytes);
}

std::vector<double> unpack_columns(std::span<const std::byte> packed, std::size_t rows, std::size_t columns) {
  // A row takes a byte of each column at least, its numbers and their positions 16 at most.
  constexpr std::size_t kMostBytes = 16;
  if (columns == 0 || rows > std::numeric_limits<std::size_t>::max() / kMostBytes / columns - 1)
    throw std::invalid_argument("packed columns of an impossible shape");
  const std::vector<std::byte> bytes = data::inflated(packed, (rows + 1) * columns * kMostBytes);
  if (bytes.size() / columns < rows) throw std::invalid_argument("packed columns that are cut short");
  Taker from(bytes);
  std::vector<double> numbers(rows * columns);
  for (std::size_t c = 0; c < columns; ++c) unpack_column(from, numbers, c, columns);
  if (from.left() > 0) throw std::invalid_argument("packed columns with bytes behind them");
  return numbers;
}

}  // namespace trainyard::predict
