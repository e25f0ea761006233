#pragma once

#include <memory>

#include <arrow/io/interfaces.h>

#include "store/s3_client.h"

namespace timelake::store {

// "bucket/name" -> the two. kInvalidArgument if either is empty.
struct S3Key {
  std::string bucket;
  std::string name;
};
Result<S3Key> SplitS3Key(const std::string& key);

// A new object: one PUT if it is small, else parts sent while more is written. It appears when
// Close has returned ok; destroyed or aborted before, nothing is left. Not thread-safe.
std::shared_ptr<arrow::io::OutputStream> MakeS3Upload(std::shared_ptr<S3Client> client, S3Key key);

// Ranged reads; ReadAt from any thread. With a size nothing is asked before the first read.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenS3File(std::shared_ptr<S3Client> client,
                                                                S3Key key,
                                                                std::optional<int64_t> size);

}  // namespace timelake::store
