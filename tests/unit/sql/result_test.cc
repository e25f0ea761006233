// How a statement's rows leave as Arrow batches: types, order, waiting, stopping.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/engine.h"
#include "timelake/error.h"

namespace timelake::sql {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Engine> PlainEngine(int threads = 2, bool dictionaries = false) {
  EngineOptions options;
  options.session.threads = threads;
  options.session.dictionaries = dictionaries;
  auto engine = Engine::Make(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *engine;
}

std::shared_ptr<arrow::RecordBatchReader> Open(Engine& engine, const std::string& text) {
  auto reader = engine.Query(text);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *reader : nullptr;
}

std::shared_ptr<arrow::RecordBatch> Next(arrow::RecordBatchReader& reader) {
  std::shared_ptr<arrow::RecordBatch> batch;
  const Status status = reader.ReadNext(&batch);
  EXPECT_TRUE(status.ok()) << status;
  if (batch) {
    EXPECT_TRUE(batch->ValidateFull().ok());
    EXPECT_TRUE(batch->schema()->Equals(*reader.schema(), true));
  }
  return batch;
}

// All rows as one table of one chunk a column.
std::shared_ptr<arrow::Table> Rows(Engine& engine, const std::string& text) {
  const auto reader = Open(engine, text);
  if (!reader) return nullptr;
  auto table = reader->ToTable();
  EXPECT_TRUE(table.ok()) << table.status();
  if (!table.ok()) return nullptr;
  EXPECT_TRUE((*table)->ValidateFull().ok());
  return *(*table)->CombineChunks();
}

int64_t Int(const arrow::Table& table, int column, int64_t row) {
  return std::static_pointer_cast<arrow::Int64Array>(table.column(column)->chunk(0))->Value(row);
}

std::string Cell(const arrow::Table& table, int column, int64_t row) {
  const auto scalar = *table.column(column)->GetScalar(row);
  return scalar->is_valid ? scalar->ToString() : "NULL";
}

// A row of values of each type; what the types are called in Arrow.
struct TypeCase {
  const char* value;
  const char* arrow_type;
};

const TypeCase kTypes[] = {
    {"true", "bool"},
    {"(-7)::TINYINT", "int8"},
    {"(-700)::SMALLINT", "int16"},
    {"(-70000)::INTEGER", "int32"},
    {"(-7000000000)::BIGINT", "int64"},
    {"250::UTINYINT", "uint8"},
    {"65000::USMALLINT", "uint16"},
    {"4000000000::UINTEGER", "uint32"},
    {"18000000000000000000::UBIGINT", "uint64"},
    {"(-12345678901234567890123456789012345678)::HUGEINT", "decimal128(38, 0)"},
    {"1.5::FLOAT", "float"},
    {"'nan'::DOUBLE", "double"},
    {"DATE '1960-02-29'", "date32[day]"},
    {"TIME '23:59:59.999999'", "time64[us]"},
    {"TIMESTAMP '1969-12-31 23:59:59.999999'", "timestamp[us]"},
    {"TIMESTAMPTZ '2026-01-03 00:00:00+00'", "timestamp[us, tz=UTC]"},
    {"TIMESTAMP_S '2026-01-03 00:00:00'", "timestamp[s]"},
    {"TIMESTAMP_MS '2026-01-03 00:00:00.5'", "timestamp[ms]"},
    {"TIMESTAMP_NS '2026-01-03 00:00:00.000000001'", "timestamp[ns]"},
    {"(-1.5)::DECIMAL(4,1)", "decimal128(4, 1)"},
    {"(-12345.67)::DECIMAL(9,2)", "decimal128(9, 2)"},
    {"(-1234567890.123)::DECIMAL(18,3)", "decimal128(18, 3)"},
    {"(-1234567890123456789012345678.9)::DECIMAL(38,1)", "decimal128(38, 1)"},
    {"'twelve bytes'", "string"},
    {"'thirteen byte'", "string"},
    {"''", "string"},
    {"'\\x00\\xff'::BLOB", "binary"},
    {"INTERVAL '1 month 2 days 3 seconds'", "month_day_nano_interval"},
    {"'b'::ENUM('a', 'b')", "dictionary<values=string, indices=uint8, ordered=0>"},
    {"'00000000-0000-0000-0000-00000000002a'::UUID", "string"},
    {"[1, NULL, 3]", nullptr},
    {"{'a': 1, 'b': 'x', 'c': [TIMESTAMPTZ '2026-01-03 00:00:00+00']}", nullptr},
    {"MAP {'k': 1}", nullptr},
    {"union_value(n := 3)", nullptr},
};

class EachType : public ::testing::TestWithParam<TypeCase> {};

// Flat vectors, constants and selections, with nulls and without, over several batches: a column of
// the type against what DuckDB's own cast to text makes of it.
TEST_P(EachType, LeavesWithItsValuesAndNulls) {
  const auto engine = PlainEngine();
  const std::string value = GetParam().value;
  const auto table = Rows(*engine,
                          "SELECT i, CASE WHEN i % 3 = 1 THEN NULL ELSE x END AS x, x AS constant, "
                          "CASE WHEN i < 5000 THEN x END AS first_half "
                          "FROM (SELECT i, " +
                              value + " AS x FROM range(70000) t(i)) WHERE i % 5 <> 2");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->num_rows(), 56000);
  const auto one = Rows(*engine, "SELECT " + value + " AS x");
  ASSERT_TRUE(one);
  if (GetParam().arrow_type) {
    EXPECT_EQ(table->schema()->field(1)->type()->ToString(), GetParam().arrow_type);
  }
  EXPECT_TRUE(table->schema()->field(1)->Equals(one->schema()->field(0)));
  const auto expected = Cell(*one, 0, 0);
  for (int64_t row = 0; row < table->num_rows(); row += row < 6000 || row > 55000 ? 1 : 101) {
    const int64_t i = Int(*table, 0, row);
    ASSERT_EQ(Cell(*table, 1, row), i % 3 == 1 ? "NULL" : expected) << row;
    ASSERT_EQ(Cell(*table, 2, row), expected) << row;
    ASSERT_EQ(Cell(*table, 3, row), i < 5000 ? expected : "NULL") << row;
  }
  const auto nulls =
      Rows(*engine, "SELECT (CASE WHEN i < 0 THEN " + value + " END) AS x FROM range(3000) t(i)");
  ASSERT_TRUE(nulls);
  EXPECT_TRUE(nulls->schema()->field(0)->Equals(one->schema()->field(0)));
  EXPECT_EQ(nulls->column(0)->null_count() == 3000 ||
                nulls->schema()->field(0)->type()->id() == arrow::Type::SPARSE_UNION,
            true);
  const auto none = Rows(*engine, "SELECT " + value + " AS x FROM range(0)");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->num_rows(), 0);
  EXPECT_TRUE(none->schema()->Equals(one->schema()));
}

INSTANTIATE_TEST_SUITE_P(Result, EachType, ::testing::ValuesIn(kTypes));

TEST(Result, ValuesOfFixedAndVaryingWidth) {
  const auto engine = PlainEngine();
  const auto table = Rows(*engine,
                          "SELECT i, i % 2 = 0 AS even, (i - 35000)::DECIMAL(12,2) / 4 AS d, "
                          "repeat('x', (i % 40)::INT) || i AS s FROM range(70000) t(i)");
  ASSERT_TRUE(table);
  for (int64_t i = 0; i < 70000; i += 7) {
    ASSERT_EQ(Int(*table, 0, i), i);
    ASSERT_EQ(Cell(*table, 1, i), i % 2 == 0 ? "true" : "false");
    ASSERT_EQ(Cell(*table, 3, i),
              std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i));
  }
  EXPECT_EQ(Cell(*table, 2, 0), Cell(*Rows(*engine, "SELECT (-35000)::DECIMAL(12,2) / 4"), 0, 0));
}

TEST(Result, ArraysOfFixedSize) {
  const auto engine = PlainEngine();
  const auto table = Rows(*engine, "SELECT i, [i, i + 0.5]::DOUBLE[2] AS x FROM range(40000) t(i)");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->schema()->field(1)->type()->id(), arrow::Type::FIXED_SIZE_LIST);
  EXPECT_THAT(Cell(*table, 1, 39999), HasSubstr("39999.5"));
}

TEST(Result, SettingsThatChangeTheExportAreObeyed) {
  const auto engine = PlainEngine(2, true);
  ASSERT_TRUE(engine->Run("SET arrow_large_buffer_size = true").ok());
  EXPECT_EQ(Rows(*engine, "SELECT 'a' AS s")->schema()->field(0)->type()->ToString(),
            "large_string");
  ASSERT_TRUE(engine->Run("SET arrow_large_buffer_size = false").ok());
  ASSERT_TRUE(engine->Run("SET arrow_output_version = '1.4'").ok());
  ASSERT_TRUE(engine->Run("SET produce_arrow_string_view = true").ok());
  EXPECT_EQ(Rows(*engine, "SELECT 'a' AS s")->schema()->field(0)->type()->ToString(),
            "string_view");
}

// Order is kept where the query has one, at any number of threads.
TEST(Result, OrderIsKept) {
  for (const int threads : {1, 2, 4}) {
    const auto engine = PlainEngine(threads);
    ASSERT_TRUE(engine
                    ->Run("CREATE TEMP TABLE t AS SELECT i, hash(i) AS h, 'text of ' || i AS s "
                          "FROM range(600000) r(i)")
                    .ok());
    for (const char* query :
         {"SELECT i, s FROM t ORDER BY i", "SELECT i, s FROM t", "SELECT i, s FROM t WHERE i >= 0",
          "SELECT i, s FROM t ORDER BY i LIMIT 600000",
          "SELECT i, s FROM t WHERE i < 300000 UNION ALL SELECT i, s FROM t WHERE i >= 300000"}) {
      const auto table = Rows(*engine, query);
      ASSERT_TRUE(table) << query;
      ASSERT_EQ(table->num_rows(), 600000) << query;
      for (int64_t row = 0; row < table->num_rows(); ++row) {
        ASSERT_EQ(Int(*table, 0, row), row) << query << " with threads = " << threads;
      }
      EXPECT_EQ(Cell(*table, 1, 599999), "text of 599999");
    }
  }
}

TEST(Result, OrderIsKeptWhenTheReaderIsSlow) {
  const auto engine = PlainEngine(4);
  ASSERT_TRUE(engine
                  ->Run("CREATE TEMP TABLE t AS SELECT i, repeat('x', 100) AS s "
                        "FROM range(1000000) r(i)")
                  .ok());
  const auto reader = Open(*engine, "SELECT i, s FROM t");
  int64_t row = 0;
  while (const auto batch = Next(*reader)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t i = 0; i < ids.length(); ++i) ASSERT_EQ(ids.Value(i), row++);
  }
  EXPECT_EQ(row, 1000000);
}

// Many small parts fill the queue without a full batch. A reader that keeps up takes them one by
// one, so how many batches come is a matter of timing; none is less than a vector on average.
TEST(Result, PartsOfManySizes) {
  const auto engine = PlainEngine();
  ASSERT_TRUE(engine
                  ->Run("CREATE TEMP TABLE t AS SELECT i, 'text ' || (i % 1000) AS s, i * 0.5 AS v "
                        "FROM range(1000000) r(i)")
                  .ok());
  for (const char* query :
       {"SELECT i, row_number() OVER (ORDER BY v) FROM t",
        "SELECT i, s, row_number() OVER (PARTITION BY s ORDER BY v) FROM t",
        "SELECT i, s, lag(v) OVER () FROM t", "SELECT i, sum(v) FROM t GROUP BY i",
        "WITH c AS MATERIALIZED (FROM t) SELECT a.i, a.s FROM c a JOIN c b USING (i)",
        "SELECT i, s FROM t WHERE i % 2 = 0 UNION ALL SELECT i, s FROM t WHERE i % 2 = 1",
        "SELECT DISTINCT i, s FROM t", "SELECT i, s FROM t LIMIT 1000000"}) {
    const auto reader = Open(*engine, query);
    ASSERT_TRUE(reader) << query;
    int64_t rows = 0, batches = 0;
    while (const auto batch = Next(*reader)) {
      rows += batch->num_rows();
      ++batches;
    }
    EXPECT_EQ(rows, 1000000) << query;
    EXPECT_LT(batches, 1000000 / 2048 + 8) << query;
  }
}

// Pieces of every type can be put together.
TEST(Result, SmallPartsOfEachType) {
  const auto plain = PlainEngine(4), dictionaries = PlainEngine(4, true);
  for (const TypeCase& type : kTypes) {
    for (const auto& engine : {plain, dictionaries}) {
      const auto reader =
          Open(*engine, std::string("SELECT i, CASE WHEN i % 3 > 0 THEN ") + type.value +
                            " END AS x FROM (SELECT i, row_number() OVER (ORDER BY i) AS n "
                            "FROM range(60000) t(i)) WHERE n % 2 = 0");
      ASSERT_TRUE(reader) << type.value;
      int64_t rows = 0, batches = 0;
      while (const auto batch = Next(*reader)) {
        rows += batch->num_rows();
        ++batches;
      }
      EXPECT_EQ(rows, 30000) << type.value;
      EXPECT_LT(batches, 10) << type.value;
    }
  }
}

TEST(Result, BatchesAreNeitherTinyNorHuge) {
  const auto engine = PlainEngine();
  const auto narrow = Open(*engine, "SELECT i FROM range(1000000) t(i)");
  EXPECT_EQ(Next(*narrow)->num_rows(), 65536);
  while (Next(*narrow)) {
  }
  const auto wide = Open(*engine, "SELECT repeat('x', 10000) AS s FROM range(100000) t(i)");
  const auto batch = Next(*wide);
  EXPECT_LT(batch->num_rows(), 5000);
  EXPECT_GE(batch->num_rows(), 400);
}

// 10 GB of result; nobody reads, and the threads stop making it.
TEST(Result, WaitsForTheReader) {
  for (const char* order : {"", " ORDER BY ALL LIMIT 100000000"}) {
    const auto engine = PlainEngine(4);
    const std::string from = order[0] ? "range(1000000)" : "range(100000000)";
    const int64_t before = arrow::default_memory_pool()->bytes_allocated();
    const auto reader = Open(*engine, "SELECT i, 'some text that is repeated ' || i AS s FROM " +
                                          from + " t(i)" + order);
    int64_t most = 0;
    for (int i = 0; i < (order[0] ? 5 : 20); ++i) {
      ASSERT_TRUE(Next(*reader));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before);
    }
    EXPECT_LT(most, 100 << 20);
  }
}

TEST(Result, CloseStopsTheStatement) {
  for (const int read : {0, 1, 3}) {
    const auto engine = PlainEngine(4);
    auto reader = Open(*engine, "SELECT i, repeat('x', 50) FROM range(1000000000) t(i)");
    for (int i = 0; i < read; ++i) ASSERT_TRUE(Next(*reader));
    const auto start = std::chrono::steady_clock::now();
    if (read == 3) {
      ASSERT_TRUE(reader->Close().ok());
      EXPECT_FALSE(Next(*reader));
    }
    reader.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    EXPECT_EQ(Cell(*Rows(*engine, "SELECT 1"), 0, 0), "1");
  }
}

// In the middle of a stream, whether or not the threads wait for the reader.
TEST(Result, InterruptEndsTheStream) {
  for (const int pause : {0, 50}) {
    const auto engine = PlainEngine();
    const auto reader = Open(*engine, "SELECT i, repeat('x', 50) FROM range(1000000000) t(i)");
    ASSERT_TRUE(Next(*reader));
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    engine->Interrupt();
    std::shared_ptr<arrow::RecordBatch> batch;
    const Status status = reader->ReadNext(&batch);
    EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << status;
    EXPECT_FALSE(Next(*reader));
    EXPECT_EQ(Cell(*Rows(*engine, "SELECT 1"), 0, 0), "1");
  }
}

TEST(Result, AnErrorInTheMiddleEndsTheStream) {
  for (const int threads : {1, 4}) {
    const auto engine = PlainEngine(threads);
    const auto opened = engine->Query(
        "SELECT CASE WHEN i < 900000 THEN i ELSE error('too late') END "
        "FROM range(1000000) t(i)");
    Status status = opened.status();
    // One of several threads may come to the end before there is a first batch.
    if (threads == 1) {
      ASSERT_TRUE(status.ok()) << status;
    }
    int64_t rows = 0;
    while (status.ok()) {
      std::shared_ptr<arrow::RecordBatch> batch;
      status = (*opened)->ReadNext(&batch);
      if (status.ok() && !batch) break;
      if (batch) rows += batch->num_rows();
    }
    EXPECT_LE(rows, 900000);
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status;
    EXPECT_THAT(status.message(), HasSubstr("too late"));
    if (opened.ok()) {
      EXPECT_FALSE(Next(**opened));
    }
    EXPECT_EQ(Cell(*Rows(*engine, "SELECT 1"), 0, 0), "1");
  }
}

TEST(Result, NumbersOfMoreDigitsThanADecimalHasAreRefused) {
  const auto engine = PlainEngine();
  const std::string most(38, '9');
  for (const std::string sign : {"", "-"}) {
    EXPECT_EQ(Cell(*Rows(*engine, "SELECT (" + sign + most + ")::HUGEINT"), 0, 0), sign + most);
    const std::string query = "SELECT CASE WHEN i = 1 THEN '" + sign + "1" + std::string(38, '0') +
                              "'::HUGEINT WHEN i = 2 THEN NULL ELSE 1 END FROM range(3) t(i)";
    const auto reader = engine->Query(query);
    const Status status = reader.ok() ? (*reader)->ToTable().status() : reader.status();
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status;
    EXPECT_THAT(status.message(), HasSubstr("1" + std::string(38, '0') + " has more than the 38"));
  }
}

TEST(Result, AnErrorInASmallResultIsTheQuerys) {
  const auto engine = PlainEngine();
  const Status status =
      engine->Query("SELECT CASE WHEN i < 9 THEN i ELSE error('no') END FROM range(10) t(i)")
          .status();
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status;
}

TEST(Result, StatementsThatChangeSomethingAreDoneBeforeTheResultIsRead) {
  const auto engine = PlainEngine();
  ASSERT_TRUE(engine->Run("CREATE TEMP TABLE t (i BIGINT)").ok());
  {
    const auto unread = Open(*engine, "INSERT INTO t SELECT i FROM range(100000) r(i)");
    EXPECT_EQ(unread->schema()->field(0)->name(), "Count");
  }
  EXPECT_EQ(Int(*Rows(*engine, "SELECT count(*) FROM t"), 0, 0), 100000);
  const auto returned = Rows(*engine, "INSERT INTO t VALUES (1), (2) RETURNING i, i + 1 AS n");
  EXPECT_EQ(returned->num_rows(), 2);
  const auto plan = Rows(*engine, "EXPLAIN SELECT count(*) FROM t");
  EXPECT_EQ(plan->schema()->field(0)->name(), "explain_key");
  ASSERT_TRUE(engine->Run("PREPARE p AS SELECT i + $1 AS x FROM t ORDER BY i LIMIT 1").ok());
  EXPECT_EQ(Int(*Rows(*engine, "EXECUTE p(41)"), 0, 0), 41);
  EXPECT_EQ(Rows(*engine, "PRAGMA table_info('t')")->num_rows(), 1);
  ASSERT_TRUE(engine->Run("BEGIN").ok());
  ASSERT_TRUE(engine->Run("DELETE FROM t").ok());
  ASSERT_TRUE(engine->Run("ROLLBACK").ok());
  EXPECT_EQ(Int(*Rows(*engine, "SELECT count(*) FROM t"), 0, 0), 100002);
}

// --- dictionaries ---

const char kDictionaryType[] = "dictionary<values=string, indices=int32, ordered=0>";

TEST(Dictionaries, TextLeavesAsDictionary) {
  const auto engine = PlainEngine(2, true);
  const auto table = Rows(*engine,
                          "SELECT i, CASE WHEN i % 10 = 3 THEN NULL ELSE 'host_' || (i % 7) END "
                          "AS h, ['a'] AS l, 'x'::BLOB AS b FROM range(200000) t(i) "
                          "WHERE i % 3 <> 1");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->schema()->field(1)->type()->ToString(), kDictionaryType);
  EXPECT_EQ(table->schema()->field(2)->type()->field(0)->type()->ToString(), "string");
  EXPECT_EQ(table->schema()->field(3)->type()->ToString(), "binary");
  const auto& column = static_cast<const arrow::DictionaryArray&>(*table->column(1)->chunk(0));
  EXPECT_EQ(column.dictionary()->length(), 7);
  const auto& words = static_cast<const arrow::StringArray&>(*column.dictionary());
  for (int64_t row = 0; row < table->num_rows(); ++row) {
    const int64_t i = Int(*table, 0, row);
    ASSERT_EQ(column.IsNull(row), i % 10 == 3) << i;
    if (column.IsNull(row)) continue;
    ASSERT_EQ(words.GetString(column.GetValueIndex(row)), "host_" + std::to_string(i % 7));
  }
}

// The vectors of an ENUM cast, of a constant and of a join's build side are dictionaries already.
TEST(Dictionaries, OfVectorsThatAreDictionaries) {
  const auto engine = PlainEngine(2, true);
  ASSERT_TRUE(engine
                  ->Run("CREATE TEMP TABLE names AS SELECT i AS k, CASE WHEN i = 3 THEN NULL ELSE "
                        "'a name of more than twelve bytes ' || i END AS name FROM range(50) t(i)")
                  .ok());
  const auto table = Rows(*engine,
                          "SELECT f.i, name, 'constant' AS c, NULL::VARCHAR AS n FROM "
                          "range(300000) f(i) LEFT JOIN names ON k = f.i % 60 WHERE f.i % 7 <> 0");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->num_rows(), 300000 - 42858);
  const auto& column = static_cast<const arrow::DictionaryArray&>(*table->column(1)->chunk(0));
  const auto& words = static_cast<const arrow::StringArray&>(*column.dictionary());
  for (int64_t row = 0; row < table->num_rows(); ++row) {
    const int64_t k = Int(*table, 0, row) % 60;
    ASSERT_EQ(column.IsNull(row), k >= 50 || k == 3) << k;
    if (column.IsNull(row)) continue;
    ASSERT_EQ(words.GetString(column.GetValueIndex(row)),
              "a name of more than twelve bytes " + std::to_string(k));
  }
  EXPECT_EQ(table->column(3)->null_count(), table->num_rows());
}

TEST(Dictionaries, EmptyAndDistinct) {
  const auto engine = PlainEngine(2, true);
  const auto empty = Rows(*engine, "SELECT 'a' AS s FROM range(0)");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->schema()->field(0)->type()->ToString(), kDictionaryType);
  const auto distinct = Rows(*engine, "SELECT i::VARCHAR AS s FROM range(100000) t(i)");
  ASSERT_TRUE(distinct);
  EXPECT_EQ(distinct->num_rows(), 100000);
}

}  // namespace
}  // namespace timelake::sql
