"""A CUBE in SQL with the plugin from the wheel: what was decided, and why something was left alone."""

from pyspark.sql import SparkSession

import phantoms


def main() -> None:
    builder = SparkSession.builder.appName("cube").master("local[*]").config("spark.ui.enabled", "false")
    spark = phantoms.configure(builder).getOrCreate()
    spark.sql(
        "SELECT CAST(hash(id, 1) & 63 AS INT) AS shop, CAST(hash(id, 2) & 31 AS INT) AS article, "
        "CAST(id % 365 AS INT) AS day, 1 + id % 100 AS cents FROM range(500000)"
    ).write.mode("overwrite").parquet("sales.parquet")
    spark.read.parquet("sales.parquet").createOrReplaceTempView("sales")

    cube = spark.sql("SELECT shop, article, day, sum(cents) AS cents FROM sales GROUP BY CUBE (shop, article, day)")
    print(phantoms.explain(cube))
    print(f"{cube.count():,} rows")

    last_sale = spark.sql("SELECT shop, article, last(cents) FROM sales GROUP BY ROLLUP (shop, article)")
    print(phantoms.why_not(last_sale))
    spark.stop()


if __name__ == "__main__":
    main()
