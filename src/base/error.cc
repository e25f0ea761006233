#include "base/error.h"

#include <memory>

namespace timelake {
namespace {

constexpr char kDetailType[] = "timelake::ErrorKind";

class KindDetail : public arrow::StatusDetail {
 public:
  explicit KindDetail(ErrorKind kind) : kind_(kind) {}
  const char* type_id() const override { return kDetailType; }
  std::string ToString() const override { return std::string(KindName(kind_)); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

arrow::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kCorrupt:
      return arrow::StatusCode::Invalid;
    case ErrorKind::kNotFound:
      return arrow::StatusCode::KeyError;
    case ErrorKind::kAlreadyExists:
      return arrow::StatusCode::AlreadyExists;
    case ErrorKind::kUnsupported:
      return arrow::StatusCode::NotImplemented;
    case ErrorKind::kIo:
      return arrow::StatusCode::IOError;
    case ErrorKind::kCancelled:
      return arrow::StatusCode::Cancelled;
    case ErrorKind::kConflict:
    case ErrorKind::kCommitUnknown:
    case ErrorKind::kInternal:
      break;
  }
  return arrow::StatusCode::UnknownError;
}

}  // namespace

std::string_view KindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument: return "invalid argument";
    case ErrorKind::kNotFound: return "not found";
    case ErrorKind::kAlreadyExists: return "already exists";
    case ErrorKind::kConflict: return "conflict";
    case ErrorKind::kCommitUnknown: return "commit unknown";
    case ErrorKind::kCorrupt: return "corrupt";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kIo: return "i/o";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kInternal: return "internal";
  }
  return "internal";
}

ErrorKind KindOf(const Status& status) {
  if (status.detail() && status.detail()->type_id() == kDetailType) {
    return static_cast<const KindDetail&>(*status.detail()).kind();
  }
  switch (status.code()) {
    case arrow::StatusCode::Invalid:
    case arrow::StatusCode::TypeError:
    case arrow::StatusCode::IndexError:
    case arrow::StatusCode::CapacityError:
      return ErrorKind::kInvalidArgument;
    case arrow::StatusCode::KeyError: return ErrorKind::kNotFound;
    case arrow::StatusCode::AlreadyExists: return ErrorKind::kAlreadyExists;
    case arrow::StatusCode::NotImplemented: return ErrorKind::kUnsupported;
    case arrow::StatusCode::IOError: return ErrorKind::kIo;
    case arrow::StatusCode::Cancelled: return ErrorKind::kCancelled;
    default: return ErrorKind::kInternal;
  }
}

Status MakeError(ErrorKind kind, std::string message) {
  return Status(CodeOf(kind), std::move(message), std::make_shared<KindDetail>(kind));
}

Status WithContext(const Status& status, const std::string& context) {
  if (status.ok()) return status;
  return MakeError(KindOf(status), context + ": " + status.message());
}

std::string MessageOf(const Status& status) { return status.message(); }

}  // namespace timelake
