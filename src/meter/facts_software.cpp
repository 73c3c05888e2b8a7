#include <dlfcn.h>
#include <unistd.h>

#include <cctype>

#include "base/philox.h"
#include "meter/provenance.h"

namespace trainyard::meter {

std::string build_id() {
  constexpr std::size_t kCommitDigits = 12;
  const BuildInfo& build = build_info();
  std::string id = std::string(build.commit).substr(0, kCommitDigits);
  if (id.empty()) id = fmt::format("v{}", build.version);
  if (const std::string changes = build.changes; !changes.empty()) id += "+" + changes;
  const std::string made_by = fmt::format("{}\n{}\n{}", build.compiler, build.flags, build.build_type);
  return fmt::format("{}-{:04x}", id, stream_of(made_by.c_str()) & 0xffff);
}

record::Provenance build_facts() {
  FactSection section("build");
  const BuildInfo& build = build_info();
  section.add("id", build_id());
  section.add("version", build.version);
  section.add("compiler", build.compiler);
  section.add("flags", build.flags);
  section.add("build_type", build.build_type);
  if (const std::string commit = build.commit; !commit.empty()) {
    section.add("commit", commit);
    section.add("uncommitted_changes", *build.changes != '\0');
    section.add("commit_seconds", build.commit_seconds);
  }
  return section.take();
}

namespace {

// Finds a function of a library that this program has loaded, or null. Lookup by name lets this file do
// without the libraries' headers, and a library that the build left out is simply absent.
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

// Returns the file that a function was loaded from, for libraries that cannot report their version. For
// OpenMP it tells GCC's runtime from LLVM's and Intel's, for libjpeg the interface and its revision.
std::optional<std::string> file_with(const char* symbol) {
  ::Dl_info found{};
  void* function = ::dlsym(RTLD_DEFAULT, symbol);
  if (!function || ::dladdr(function, &found) == 0 || !found.dli_fname) return std::nullopt;
  std::error_code ignored;
  return std::filesystem::weakly_canonical(found.dli_fname, ignored).filename().string();
}

std::optional<std::string> mpi_version() {
  constexpr int kMostText = 8192;  // at least MPI_MAX_LIBRARY_VERSION_STRING of any implementation
  const auto version = loaded<int (*)(char*, int*)>("MPI_Get_library_version");
  std::string text(kMostText, '\0');
  int size = 0;
  if (!version || version(text.data(), &size) != 0) return std::nullopt;
  return text.substr(0, text.find_first_of(std::string_view(",\n\0", 3)));  // "Open MPI v4.1.4, package: ..."
}

// "12.4" of 12040.
std::optional<std::string> cuda_version() {
  const auto version = loaded<int (*)(int*)>("cudaRuntimeGetVersion");
  int number = 0;
  if (!version || version(&number) != 0) return std::nullopt;
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// "9.1.0" of 90100.
std::optional<std::string> cudnn_version() {
  const auto version = loaded<std::size_t (*)()>("cudnnGetVersion");
  if (!version) return std::nullopt;
  return fmt::format("{}.{}.{}", version() / 10000, version() / 100 % 100, version() % 100);
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
  section.add("mpi", mpi_version());
  section.add("cuda", cuda_version());
  section.add("cudnn", cudnn_version());
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

namespace {

// These variables change the speed of a step. No other part of the environment is ever read.
constexpr std::string_view kPrefixes[] = {"OMP_", "GOMP_",   "KMP_",  "DNNL_",     "ONEDNN_",
                                          "MKL_", "MALLOC_", "NCCL_", "TRAINYARD_"};
constexpr std::string_view kNames[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                       "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
                                       "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES",
                                       "CUDNN_LOGINFO_DBG",    "GLIBC_TUNABLES",
                                       "LD_BIND_NOW",          "LD_PRELOAD"};
constexpr std::size_t kMostCharacters = 300;

// Our own processes pass information to each other in these variables. They are no settings of a run and
// differ in each.
constexpr std::string_view kBetweenProcesses = "TRAINYARD_INTERNAL_";

bool allowed(std::string_view name) {
  if (name.starts_with(kBetweenProcesses)) return false;
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// No tuning variable has such a name, and one that does may hold a password in the wrong place.
bool secret_name(std::string_view name) {
  static constexpr std::string_view kWords[] = {"SECRET",     "TOKEN", "PASS",   "KEY",
                                                "CREDENTIAL", "AUTH",  "PRIVATE"};
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return upper.find(word) != upper.npos; });
}

// Keys and hashes are one long run of letters and digits, while settings are words and numbers with
// separators.
bool secret_value(std::string_view value) {
  static constexpr std::string_view kMarks[] = {"ghp_", "github_pat_", "glpat-", "AKIA",
                                                "sk-",  "xox",         "eyJ",    "-----BEGIN"};
  constexpr std::size_t kLongRun = 24;
  if (std::any_of(std::begin(kMarks), std::end(kMarks),
                  [&](std::string_view mark) { return value.find(mark) != value.npos; }))
    return true;
  if (value.find("://") != value.npos && value.find('@') != value.npos) return true;
  std::size_t run = 0;
  bool digit = false, letter = false;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && c != '_' && c != '+' && c != '=') {
      run = 0;
      digit = letter = false;
      continue;
    }
    ++run;
    digit = digit || std::isdigit(byte);
    letter = letter || std::isalpha(byte);
    if (run >= kLongRun && digit && letter) return true;
  }
  return false;
}

// "/home/someone/libjemalloc.so.2:libx.so" -> "libjemalloc.so.2:libx.so". Folder names are private.
std::string without_folders(std::string_view list) {
  std::string names;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find_first_of(": ,="));
    names += entry.starts_with('/') ? entry.substr(entry.rfind('/') + 1) : entry;
    if (entry.size() < list.size()) names += list[entry.size()];
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return names;
}

}  // namespace

record::Provenance environment_facts(const Environment& environment) {
  FactSection section("environment");
  for (const auto& [name, value] : environment) {
    if (!allowed(name) || secret_name(name)) continue;
    const std::string text = without_folders(value);
    section.add(name.c_str(), secret_value(value) || text.size() > kMostCharacters ? "(hidden)" : text);
  }
  return section.take();
}

}  // namespace trainyard::meter
