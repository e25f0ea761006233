// Manifests and manifest lists come from other programs. Whatever the bytes, the readers answer
// with a status. First inputs: write_sample_manifest <corpus folder>.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "iceberg/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto manifest = timelake::iceberg::ReadManifest(bytes, "fuzz");
  if (manifest.ok()) {
    timelake::iceberg::Inherit({}, &manifest->entries);
    // What was read may be refused by the writer, but not crash it.
    (void)timelake::iceberg::WriteManifest(manifest->header, manifest->entries);
  }
  auto rows = timelake::iceberg::ReadManifestList(bytes, "fuzz");
  if (rows.ok()) (void)timelake::iceberg::WriteManifestList({}, *rows);
  return 0;
}
