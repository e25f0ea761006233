// The scan as DuckDB drives it, over a scanner that needs no files: threads, errors, interruption,
// and what of the filters reaches the pruning.

#include "sql/scan_function.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/main/materialized_query_result.hpp>

#include "iceberg/arrow_schema.h"
#include "scan/row_selection.h"
#include "sql/filters.h"
#include "sql/types.h"

namespace timelake::sql {
namespace {

using ::testing::HasSubstr;

// What the fake table does, and what was asked of it.
struct Script {
  int64_t morsels = 8;
  int64_t batches = 4;                 // per morsel
  int64_t rows = 5000;                 // per batch
  int64_t fail_at = -1;                // batch of the whole scan that is an error
  std::chrono::milliseconds delay{0};  // per batch

  std::atomic<int64_t> batches_given{0};
  std::vector<int> field_ids;
  scan::Predicate predicate;
  scan::ScanRequest request;
};

// Column i of row r is r + i, with r counted over the whole scan; text columns hold it as text.
class FakeReader : public arrow::RecordBatchReader {
 public:
  FakeReader(Script* script, std::shared_ptr<arrow::Schema> schema, int64_t first_row,
             scan::RowFilter* filter)
      : script_(script), schema_(std::move(schema)), row_(first_row), filter_(filter) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    if (given_++ == script_->batches) return Status::OK();
    std::this_thread::sleep_for(script_->delay);
    if (script_->batches_given++ == script_->fail_at) {
      return Corrupt("file x.parquet, row group 3: bad page");
    }
    arrow::ArrayVector columns;
    for (const auto& field : schema_->fields()) {
      TL_ASSIGN_OR_RAISE(auto column, Column(*field->type()));
      columns.push_back(std::move(column));
    }
    *out = arrow::RecordBatch::Make(schema_, script_->rows, std::move(columns));
    TL_RETURN_NOT_OK(Filter(out));
    row_ += script_->rows;
    return Status::OK();
  }

 private:
  Result<std::shared_ptr<arrow::Array>> Column(const arrow::DataType& type) const {
    auto builder = *arrow::MakeBuilder(type.GetSharedPtr());
    for (int64_t i = row_; i < row_ + script_->rows; ++i) {
      auto scalar = type.id() == arrow::Type::STRING
                        ? std::shared_ptr<arrow::Scalar>(
                              std::make_shared<arrow::StringScalar>("number " + std::to_string(i)))
                        : *arrow::MakeScalar(type.GetSharedPtr(), i);
      TL_RETURN_NOT_OK(builder->AppendScalar(*scalar));
    }
    return builder->Finish();
  }

  // As the scanner has promised.
  Status Filter(std::shared_ptr<arrow::RecordBatch>* batch) const {
    table::RowRanges rows;
    table::Append({0, script_->rows}, &rows);
    const auto& filters = script_->request.filters;
    for (size_t i = 0; i < filters.size(); ++i) {
      iceberg::Schema one;
      one.fields = {*iceberg::FindFieldById(script_->request.schema, filters[i].field_id)};
      TL_ASSIGN_OR_RAISE(auto column, Column(*iceberg::ToArrow(one)->field(0)->type()));
      TL_RETURN_NOT_OK(filter_->Keep(i, column->data(), &rows));
    }
    arrow::ArrayVector columns;
    for (const auto& column : (*batch)->columns()) {
      TL_ASSIGN_OR_RAISE(auto taken, scan::Take(column, rows));
      columns.push_back(std::move(taken));
    }
    *batch = arrow::RecordBatch::Make(schema_, table::CountRows(rows), std::move(columns));
    return Status::OK();
  }

  Script* script_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_;
  scan::RowFilter* filter_;
  int64_t given_ = 0;
};

class FakeScanner : public scan::Scanner {
 public:
  FakeScanner(Script* script, std::shared_ptr<arrow::Schema> schema)
      : script_(script), schema_(std::move(schema)) {
    scan::ScanFile file;
    iceberg::DataFile data;
    data.record_count = script->morsels * script->batches * script->rows;
    file.data = std::make_shared<const iceberg::DataFile>(std::move(data));
    plan_.files.push_back(file);
    plan_.counters = std::make_shared<scan::Counters>();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Result<std::shared_ptr<arrow::RecordBatchReader>> Next(scan::RowFilter* filter,
                                                         scan::RowId*) override {
    const int64_t morsel = next_++;
    if (morsel >= script_->morsels) return nullptr;
    return std::make_shared<FakeReader>(script_, schema_, morsel * script_->batches * script_->rows,
                                        filter);
  }
  const scan::Plan& plan() const override { return plan_; }

 private:
  Script* script_;
  std::shared_ptr<arrow::Schema> schema_;
  scan::Plan plan_;
  std::atomic<int64_t> next_{0};
};

struct FakeTable : duckdb::TableFunctionInfo {
  std::shared_ptr<const TableVersion> version;
};

duckdb::unique_ptr<duckdb::FunctionData> BindFake(duckdb::ClientContext&,
                                                  duckdb::TableFunctionBindInput& input,
                                                  duckdb::vector<duckdb::LogicalType>& types,
                                                  duckdb::vector<duckdb::string>& names) {
  const auto& version = input.info->Cast<FakeTable>().version;
  for (const iceberg::Field& field : version->schema->fields) {
    types.push_back(ToLogicalType(field.type));
    names.push_back(field.name);
  }
  return MakeScanBindData(version, nullptr);
}

class ScanFunction : public ::testing::Test {
 protected:
  ScanFunction() : database_(nullptr), connection_(database_) {
    auto metadata = std::make_shared<iceberg::TableMetadata>();
    metadata->schemas = {*iceberg::ParseSchemaText(
        "id:long, n:int, s:string, f:float, d:double, t:timestamptz, flag:boolean")};
    auto version = std::make_shared<TableVersion>();
    version->name = "test.fake";
    version->metadata = metadata;
    version->schema = iceberg::CurrentSchema(*metadata);
    version->open = [this](const TableVersion& table,
                           scan::ScanRequest request) -> Result<std::shared_ptr<scan::Scanner>> {
      script_.field_ids = request.field_ids;
      script_.predicate = request.predicate;
      request.schema = *table.schema;
      script_.request = request;
      iceberg::Schema wanted;
      for (int id : request.field_ids)
        wanted.fields.push_back(*iceberg::FindFieldById(*table.schema, id));
      auto schema = iceberg::ToArrow(wanted);
      return std::make_shared<FakeScanner>(&script_, schema);
    };
    auto function = MakeScanFunction();
    function.name = "fake";
    function.bind = BindFake;
    auto info = duckdb::make_shared_ptr<FakeTable>();
    info->version = version;
    function.function_info = info;
    duckdb::ExtensionLoader(*database_.instance, "test").RegisterFunction(function);
    schema_ = version->schema;
    version_ = version;
    Query("SET threads = 4");
  }

  std::string Query(const std::string& text) {
    const auto result = connection_.Query(text);
    if (result->HasError()) return "error: " + result->GetError();
    return result->RowCount() ? result->GetValue(0, 0).ToString() : "";
  }

  // The pruning of `SELECT id FROM fake() WHERE <filter>`.
  std::string Pruning(const std::string& filter) {
    script_.predicate = {};
    const std::string result = Query("SELECT count(*) FROM fake() WHERE " + filter);
    EXPECT_THAT(result, ::testing::Not(HasSubstr("error"))) << filter;
    return ToText(*schema_, script_.predicate);
  }

  Script script_;
  duckdb::DuckDB database_;
  duckdb::Connection connection_;
  const iceberg::Schema* schema_ = nullptr;
  std::shared_ptr<const TableVersion> version_;
};

TEST_F(ScanFunction, EveryRowOnceOverThreads) {
  const int64_t rows = script_.morsels * script_.batches * script_.rows;
  EXPECT_EQ(Query("SELECT (count(*), count(DISTINCT id), sum(id), count(DISTINCT s)) FROM fake()"),
            "(" + std::to_string(rows) + ", " + std::to_string(rows) + ", " +
                std::to_string(rows * (rows - 1) / 2) + ", " + std::to_string(rows) + ")");
  EXPECT_EQ(Query("SELECT count(*) FROM fake() WHERE s <> 'number ' || id"), "0");
}

TEST_F(ScanFunction, CountingNeedsNoColumns) {
  EXPECT_EQ(Query("SELECT count(*) FROM fake()"), "160000");
  EXPECT_TRUE(script_.field_ids.empty());
}

TEST_F(ScanFunction, ReadsOnlyTheColumnsInUse) {
  EXPECT_EQ(Query("SELECT max(d) FROM fake() WHERE n >= 0"), "159999.0");
  EXPECT_THAT(script_.field_ids, ::testing::ElementsAre(5));  // n only by its filter
}

TEST_F(ScanFunction, FiltersAreApplied) {
  EXPECT_EQ(Query("SELECT count(*) FROM fake() WHERE id BETWEEN 10 AND 19"), "10");
  EXPECT_EQ(Query("SELECT count(*) FROM fake() WHERE s = 'number 7' AND n = 7"), "1");
}

TEST_F(ScanFunction, PruningSaysNoMoreThanTheFilters) {
  EXPECT_EQ(Pruning("id = 5"), "id = 5");
  EXPECT_EQ(Pruning("5 < id"), "id > 5");
  EXPECT_EQ(Pruning("id >= 5 AND id < 7"), "id >= 5, id < 7");
  EXPECT_EQ(Pruning("id > 5 AND id <= 7"), "id > 5, id <= 7");
  EXPECT_EQ(Pruning("id BETWEEN 5 AND 7"), "id >= 5, id <= 7");
  EXPECT_EQ(Pruning("s IN ('x', 'y')"), "s in ('x', 'y')");
  EXPECT_EQ(Pruning("s IS NULL"), "s is null");
  EXPECT_EQ(Pruning("s IS NOT NULL"), "s is not null");
  EXPECT_EQ(Pruning("n <> 3"), "n <> 3");
  EXPECT_EQ(Pruning("flag"), "flag = true");
  EXPECT_EQ(Pruning("NOT flag"), "flag = false");
  EXPECT_EQ(Pruning("t >= '2026-01-03'"), "t >= 2026-01-03T00:00:00Z");
  EXPECT_EQ(Pruning("t >= TIMESTAMPTZ '2026-01-03' - INTERVAL 1 DAY"), "t >= 2026-01-02T00:00:00Z");
  // An int column with a long constant is cast; the cast loses nothing.
  EXPECT_EQ(Pruning("n < 5::BIGINT"), "n < 5");
  EXPECT_EQ(Pruning("f > 0.5::DOUBLE"), "");
  // Zeros of both signs.
  EXPECT_EQ(Pruning("d = 0"), "d in (-0.0, 0.0)");
  EXPECT_EQ(Pruning("d > 0"), "d > -0.0");
  EXPECT_EQ(Pruning("d <= -0.0::DOUBLE"), "d <= 0.0");
  // Nothing can be said of these.
  EXPECT_EQ(Pruning("id = 5 OR n = 6"), "");
  EXPECT_EQ(Pruning("id + 1 = 5"), "id = 4");  // DuckDB moves the constant
  EXPECT_EQ(Pruning("id * id = 25"), "");
  EXPECT_EQ(Pruning("id = n"), "");
  EXPECT_EQ(Pruning("s LIKE '%x'"), "");
  EXPECT_EQ(Pruning("id NOT IN (1, 2)"), "");
  EXPECT_EQ(Pruning("random() < 0.5"), "");
}

TEST_F(ScanFunction, PreparedStatementsPruneWithTheirParameters) {
  Query("PREPARE q AS SELECT count(*) FROM fake() WHERE id < $1");
  EXPECT_EQ(Query("EXECUTE q(10)"), "10");
  EXPECT_EQ(Query("EXECUTE q(20)"), "20");
  for (const auto& test : script_.predicate.all_of) EXPECT_EQ(test.values.size(), 1u);
}

TEST_F(ScanFunction, ExplainShowsThePruning) {
  const auto result = connection_.Query("EXPLAIN SELECT n FROM fake() WHERE id > 41");
  ASSERT_FALSE(result->HasError()) << result->GetError();
  const std::string plan = result->GetValue(1, 0).ToString();
  EXPECT_THAT(plan, HasSubstr("test.fake"));
  EXPECT_THAT(plan, HasSubstr("id > 41"));
}

TEST_F(ScanFunction, AnErrorInTheMiddleEndsTheQueryOnly) {
  script_.fail_at = 17;
  EXPECT_THAT(Query("SELECT sum(id) FROM fake()"), HasSubstr("row group 3: bad page"));
  script_.fail_at = -1;
  EXPECT_EQ(Query("SELECT count(*) FROM fake()"), "160000");
}

TEST_F(ScanFunction, LimitStopsTheScan) {
  script_.morsels = 1000;
  Query("SELECT id FROM fake() LIMIT 5");
  EXPECT_LT(script_.batches_given, 100);
}

TEST_F(ScanFunction, InterruptStopsTheScan) {
  script_.morsels = 100000;
  script_.rows = 10;
  script_.delay = std::chrono::milliseconds(1);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    connection_.Interrupt();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Query("SELECT sum(id) FROM fake()"), HasSubstr("INTERRUPT"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  stopper.join();
}

}  // namespace
}  // namespace timelake::sql
