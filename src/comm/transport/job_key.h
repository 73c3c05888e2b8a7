#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace trainyard::comm::transport {

using Digest = std::array<std::byte, 32>;

// The secret that the processes of one job share. Who has it may take part.
class JobKey {
 public:
  static JobKey random();
  // 64 hexadecimal digits. Error (config) when it is something else; `where` says whence it came.
  static JobKey parse(const std::string& text, const std::string& where);
  std::string to_text() const;
  // The same in a file; Error (config) also when others than its owner may read it.
  static JobKey read(const std::filesystem::path& file);
  void write(const std::filesystem::path& file) const;

  // HMAC-SHA-256 over the parts, one after the other.
  Digest sign(std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  std::array<std::byte, 32> secret_{};
};

// Takes as long wherever they differ.
bool same(const Digest& a, const Digest& b);

// From the system's source of randomness.
void fill_random(std::span<std::byte> bytes);

}  // namespace trainyard::comm::transport
