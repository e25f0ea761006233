#include "table/recent_rows.h"

#include <utility>

#include "table/meta_cache.h"

namespace timelake::table {
namespace {

struct Recent {
  iceberg::Schema schema;
  std::shared_ptr<arrow::RecordBatch> rows;
};

}  // namespace

void KeepRecent(const Env& env, const std::string& uri, const iceberg::Schema& schema,
                std::shared_ptr<arrow::RecordBatch> rows, int64_t bytes) {
  if (!env.recent || bytes > kMostRecentBytes) return;
  env.recent->Put<Recent>(uri, std::make_shared<const Recent>(Recent{schema, std::move(rows)}),
                          bytes);
}

std::shared_ptr<arrow::RecordBatch> RecentRows(const Env& env, const std::string& uri,
                                               const iceberg::Schema& schema) {
  if (!env.recent) return nullptr;
  const auto recent = env.recent->Get<Recent>(uri);
  return recent && iceberg::SameFields(recent->schema, schema) ? recent->rows : nullptr;
}

void ForgetRecent(const Env& env, const std::string& uri) {
  if (env.recent) env.recent->Remove(uri);
}

}  // namespace timelake::table
