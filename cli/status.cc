#include "status.h"

#include <cstring>
#include <memory>
#include <utility>

namespace timelake::cli {
namespace {

constexpr char kUsageType[] = "timelake::cli::Usage";
constexpr char kPipeType[] = "timelake::cli::BrokenPipe";

class Tag : public arrow::StatusDetail {
 public:
  explicit Tag(const char* type) : type_(type) {}
  const char* type_id() const override { return type_; }
  std::string ToString() const override { return type_; }

 private:
  const char* type_;
};

bool HasTag(const Status& status, const char* type) {
  return status.detail() != nullptr && status.detail()->type_id() == type;
}

}  // namespace

Status UsageError(std::string message) {
  return Status(arrow::StatusCode::Invalid, std::move(message), std::make_shared<Tag>(kUsageType));
}

bool IsUsageError(const Status& status) { return HasTag(status, kUsageType); }

Status BrokenPipe() {
  return Status(arrow::StatusCode::IOError, "broken pipe", std::make_shared<Tag>(kPipeType));
}

bool IsBrokenPipe(const Status& status) { return HasTag(status, kPipeType); }

Status SystemError(const std::string& what, int error_number) {
  return Status::IOError(what, ": ", std::strerror(error_number));
}

}  // namespace timelake::cli
