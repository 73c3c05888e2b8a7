#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/core.h>

#include "meter/facts.h"

namespace trainyard::meter {
namespace {

// A function of a library that this program has loaded, or null. Asked for by name, so that this file needs
// no header of any library, and what the build left out is simply not there.
template <typename Function>
Function loaded(const char* symbol) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, symbol));
}

std::optional<std::string> onednn_version() {
  struct Version {  // the beginning of dnnl_version_t
    int major, minor, patch;
  };
  const auto version = loaded<const Version* (*)()>("dnnl_version");
  if (!version) return std::nullopt;
  return fmt::format("{}.{}.{}", version()->major, version()->minor, version()->patch);
}

std::optional<std::string> png_version() {
  const auto version = loaded<const char* (*)(const void*)>("png_get_libpng_ver");
  return version ? std::optional<std::string>(version(nullptr)) : std::nullopt;
}

std::optional<std::string> openssl_version() {
  constexpr int kVersionText = 6;  // OPENSSL_VERSION_STRING: "3.0.22"
  const auto version = loaded<const char* (*)(int)>("OpenSSL_version");
  return version ? std::optional<std::string>(version(kVersionText)) : std::nullopt;
}

std::optional<std::string> text_version(const char* symbol) {
  const auto version = loaded<const char* (*)()>(symbol);
  return version ? std::optional<std::string>(version()) : std::nullopt;
}

// For libraries that have no call for their version: the file that such a function was loaded from. Of OpenMP
// it tells GCC's runtime from LLVM's and Intel's, of libjpeg the interface and its revision.
std::optional<std::string> file_with(const char* symbol) {
  ::Dl_info found{};
  void* function = ::dlsym(RTLD_DEFAULT, symbol);
  if (!function || ::dladdr(function, &found) == 0 || !found.dli_fname) return std::nullopt;
  std::error_code ignored;
  return std::filesystem::weakly_canonical(found.dli_fname, ignored).filename().string();
}

std::optional<std::string> glibc_version() {
  char text[64];
  const std::size_t size = ::confstr(_CS_GNU_LIBC_VERSION, text, sizeof(text));  // "glibc 2.36"
  if (size == 0 || size > sizeof(text)) return std::nullopt;
  return std::string(split_words(text).back());
}

}  // namespace

record::Provenance library_facts() {
  FactSection section("libraries");
  section.add("onednn", onednn_version());
  section.add("openmp", file_with("omp_get_max_threads"));
  section.add("glibc", glibc_version());
  section.add("sqlite", text_version("sqlite3_libversion"));
  section.add("openssl", openssl_version());
  section.add("zlib", text_version("zlibVersion"));
  section.add("libpng", png_version());
  section.add("libjpeg", file_with("jpeg_std_error"));
  section.add("fmt",
              fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
  return section.take();
}

}  // namespace trainyard::meter
