#include "fetch/gzip_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace trainyard::fetch {

GzipFile::GzipFile(std::filesystem::path path) : path_(std::move(path)), file_(nullptr) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    fail(ErrorKind::config, "cannot read '{}': it is a folder", path_.string());
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) fail(ErrorKind::config, "cannot read '{}': {}", path_.string(), std::strerror(errno));
  gzbuffer(file_, 1 << 18);
}

GzipFile::~GzipFile() { gzclose(file_); }

std::size_t GzipFile::read(void* destination, std::size_t bytes) {
  constexpr std::size_t kMaxRead = std::size_t{1} << 30;  // gzread counts in int
  std::size_t done = 0;
  while (done < bytes) {
    const int got = gzread(file_, static_cast<char*>(destination) + done,
                           static_cast<unsigned>(std::min(bytes - done, kMaxRead)));
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    // A stream cut short is reported as Z_BUF_ERROR beside a read that looks like the end of the file.
    if (got < 0 || code == Z_BUF_ERROR)
      fail(code == Z_ERRNO ? ErrorKind::io : ErrorKind::config, "cannot read '{}': {}", path_.string(),
           code == Z_BUF_ERROR ? "its gzip stream is cut short"
                               : (code == Z_ERRNO ? std::strerror(errno) : reason));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace trainyard::fetch
