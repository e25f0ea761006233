#pragma once

#include <string>

#include "iceberg/metadata.h"

namespace timelake::iceberg {

// A version 2 file as WriteMetadata writes it, with members that nobody knows on every object and
// numbers that a double cannot hold.
inline const char kMetadataV2[] =
    R"({"format-version":2,"table-uuid":"0197f3c0-0000-7000-8000-000000000001",)"
    R"("location":"s3://lake/ns/cpu","last-sequence-number":7,"last-updated-ms":1767398400123,)"
    R"("last-column-id":9,"schemas":[{"type":"struct","schema-id":0,)"
    R"("identifier-field-ids":[1],"fields":[)"
    R"({"id":1,"name":"time","required":true,"type":"timestamptz","doc":"when \"it\" was",)"
    R"("x-field":{"b":1,"a":[null,true,-0.10]}},)"
    R"({"id":2,"name":"host","required":false,"type":"string"},)"
    R"J({"id":3,"name":"price","required":false,"type":"decimal(9,2)"},)J"
    R"({"id":4,"name":"tags","required":false,"type":{"type":"map","key-id":5,"key":"string",)"
    R"("value-id":6,"value":{"type":"list","element-id":7,"element":"fixed[4]",)"
    R"("element-required":true},"value-required":false,"x-map":"m"}},)"
    R"({"id":8,"name":"s","required":false,"type":{"type":"struct","fields":[)"
    R"({"id":9,"name":"x","required":false,"type":"long"}],"x-struct":1e40}}],"x-schema":"s"}],)"
    R"("current-schema-id":0,"partition-specs":[{"spec-id":0,"fields":[{"source-id":1,)"
    R"("field-id":1000,"name":"time_day","transform":"day","x-part":1},{"source-id":2,)"
    R"("field-id":1001,"name":"z","transform":"zorder[7]"}],"x-spec":2}],"default-spec-id":0,)"
    R"("last-partition-id":1001,"properties":{"a":"b","timelake.time-column":"time"},)"
    R"("current-snapshot-id":5184430069070270604,"snapshots":[{)"
    R"("snapshot-id":5184430069070270604,"parent-snapshot-id":9223372036854775807,)"
    R"("sequence-number":7,"timestamp-ms":1767398400123,)"
    R"("manifest-list":"s3://lake/ns/cpu/metadata/snap-1.avro",)"
    R"("summary":{"operation":"append","total-records":"4"},"schema-id":0,"x-snap":[1,2]}],)"
    R"("snapshot-log":[{"snapshot-id":5184430069070270604,"timestamp-ms":1767398400123}],)"
    R"("metadata-log":[{"metadata-file":"s3://lake/ns/cpu/metadata/v1.metadata.json",)"
    R"("timestamp-ms":1767398300000}],"sort-orders":[{"order-id":1,"fields":[{)"
    R"("transform":"identity","source-id":2,"direction":"asc","null-order":"nulls-first",)"
    R"("x-sort":true},{"transform":"bucket[4]","source-id":1,"direction":"desc",)"
    R"("null-order":"nulls-last"}],"x-order":null}],"default-sort-order-id":1,)"
    R"("refs":{"keep":{"snapshot-id":5184430069070270604,"type":"tag",)"
    R"("max-ref-age-ms":86400000,"x-ref":"\u0001"},"main":{)"
    R"("snapshot-id":5184430069070270604,"type":"branch","min-snapshots-to-keep":3,)"
    R"("max-snapshot-age-ms":9007199254740993}},"partition-statistics":[],)"
    R"("statistics":[{"snapshot-id":5184430069070270604,"big":12345678901234567890123,)"
    R"("float":1.50e-7}]})";

}  // namespace timelake::iceberg
