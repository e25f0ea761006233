#include <utility>

#include "sql/engine.h"
#include "table/lake_impl.h"
#include "timelake/session.h"

namespace timelake {

namespace detail {

class SessionImpl {
 public:
  std::shared_ptr<sql::Engine> engine;
};

}  // namespace detail

Session::Session(std::shared_ptr<detail::SessionImpl> impl) : impl_(std::move(impl)) {}

arrow::Result<Session> Session::Open(const Lake& lake, const SessionOptions& options) {
  // Checks the characters; the namespace need not exist yet.
  ARROW_RETURN_NOT_OK(table::ParseTableName(options.name_space + ".t").status());
  sql::EngineOptions engine_options;
  engine_options.session = options;
  engine_options.lake = lake.impl()->catalog;
  engine_options.append = lake.impl()->append;
  engine_options.erase = lake.impl()->erase;
  engine_options.rollups = lake.impl()->rollups;
  auto impl = std::make_shared<detail::SessionImpl>();
  ARROW_ASSIGN_OR_RAISE(impl->engine, sql::Engine::Make(std::move(engine_options)));
  return Session(std::move(impl));
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Session::Sql(std::string_view text,
                                                                      const Params& params) {
  return impl_->engine->Query(text, params);
}

arrow::Result<std::vector<std::string>> Session::Split(std::string_view text) {
  return sql::Engine::Split(text);
}

void Session::Interrupt() { impl_->engine->Interrupt(); }

}  // namespace timelake
