"""Moving totals of a trading desk: sliding windows over trades, as an ordinary PySpark job that knows of no plugin.

Plain Spark copies each trade into every window it is in; with the plugin it is added to a slice once.

    spark-submit examples/trading_desk.py
    spark-submit --jars JAR --conf spark.sql.extensions=io.phantoms.spark.PhantomsExtensions examples/trading_desk.py
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

WINDOWS = {  # what a desk looks at: so much time, every so often
    "scalper": ("1 minute", "10 seconds"),
    "day trader": ("5 minutes", "1 minute"),
    "algorithm": ("7 minutes", "90 seconds"),
    "manager": ("15 minutes", "5 minutes"),
}


def moving(trades: DataFrame, desk: str) -> DataFrame:
    window = F.window("ts", *WINDOWS[desk])
    totals = trades.groupBy(window, "symbol").agg(
        F.count("*").alias("trades"), F.sum("volume").alias("volume"), F.max("price").alias("high")
    )
    return totals.select(F.lit(desk).alias("desk"), "window.start", "symbol", "trades", "volume", "high")


def main() -> None:
    spark = SparkSession.builder.appName("trading desk").config("spark.ui.enabled", "false").getOrCreate()
    path = "trades.parquet"
    spark.range(20_000).selectExpr(
        "timestamp_seconds(1101902400 + id * 600 / 20000) AS ts",
        "element_at(array('IBM', 'GE', 'KO', 'XOM'), (hash(id, 1) & 3) + 1) AS symbol",
        "CAST(4000 + (hash(id, 2) & 255) AS BIGINT) AS price",
        "IF(hash(id, 3) & 1 = 0, 100, 100 + 10 * (hash(id, 4) & 63)) AS volume",
    ).write.mode("overwrite").parquet(path)
    trades = spark.read.parquet(path)

    desks = reduce(DataFrame.unionAll, [moving(trades, desk) for desk in WINDOWS])
    desks.explain()
    desks.groupBy("desk").agg(F.count("*").alias("windows"), F.max("volume").alias("busiest")).orderBy("desk").show()
    spark.stop()


if __name__ == "__main__":
    main()
