"""Several reports over flow records, as an ordinary PySpark job: nothing here knows of the plugin.

Run it with plain Spark, then with the plugin:

    spark-submit examples/netflow_reports.py
    spark-submit --jars JAR --conf spark.sql.extensions=io.phantoms.spark.PhantomsExtensions examples/netflow_reports.py
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

REPORTS = {
    "by source": ["src"],
    "by destination": ["dst"],
    "by host pair": ["src", "dst"],
    "by service": ["port"],
    "by source and service": ["src", "port"],
}


def report(flows: DataFrame, name: str, keys: list[str]) -> DataFrame:
    totals = flows.groupBy(*keys).agg(F.count("*").alias("flows"), F.sum("octets").alias("octets"))
    columns = [F.col(k) if k in keys else F.lit(None).cast("int").alias(k) for k in ("src", "dst", "port")]
    return totals.select(F.lit(name).alias("report"), *columns, "flows", "octets")


def main() -> None:
    spark = SparkSession.builder.appName("netflow reports").getOrCreate()
    path = "flows.parquet"
    spark.range(200_000).selectExpr(
        "CAST(hash(id, 1) & 255 AS INT) AS src",
        "CAST(hash(id, 2) & 511 AS INT) AS dst",
        "CAST(element_at(array(22, 53, 80, 443), (hash(id, 3) & 3) + 1) AS INT) AS port",
        "40 + id % 1400 AS octets",
    ).write.mode("overwrite").parquet(path)
    flows = spark.read.parquet(path)

    everything = reduce(DataFrame.unionAll, [report(flows, name, keys) for name, keys in REPORTS.items()])
    everything.explain()
    everything.groupBy("report").agg(F.count("*").alias("rows"), F.sum("flows").alias("flows")).orderBy("report").show()
    spark.stop()


if __name__ == "__main__":
    main()
