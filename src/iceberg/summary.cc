#include "iceberg/summary.h"

#include <mutex>

#include "iceberg/json_tree.h"

namespace timelake::iceberg {

struct Summary::Shared {
  explicit Shared(Map values) : map(std::move(values)) {}

  Map map;
  std::once_flag once;
  std::string json;  // empty until it is asked for
};

Summary::Summary(Map map) : shared_(std::make_shared<Shared>(std::move(map))) {}

const Summary::Map& Summary::map() const {
  static const Map empty;
  return shared_ ? shared_->map : empty;
}

Summary::Map& Summary::Own() {
  if (!shared_) {
    shared_ = std::make_shared<Shared>(Map());
  } else if (shared_.use_count() > 1 || !shared_->json.empty()) {
    shared_ = std::make_shared<Shared>(shared_->map);
  }
  return shared_->map;
}

const std::string& Summary::Json() const {
  static const std::string none = "{}";
  if (!shared_) return none;
  std::call_once(shared_->once, [&] {
    JsonWriter writer;
    writer.BeginObject();
    for (const auto& [name, text] : shared_->map) writer.Member(name, text);
    writer.EndObject();
    shared_->json = writer.Take();
  });
  return shared_->json;
}

}  // namespace timelake::iceberg
