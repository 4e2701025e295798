"""Alarms over a latency log: per service and region the last five minutes, every 30 seconds, with HAVING.

With the plugin from the wheel; leave `phantoms.configure` out and the same alarms come from plain Spark.
"""

from pyspark.sql import SparkSession

import phantoms

ALARMS = """
SELECT window.end AS at, service, region, count(*) AS requests, round(avg(millis), 1) AS mean, max(millis) AS worst
FROM requests
GROUP BY window(ts, '5 minutes', '30 seconds'), service, region
HAVING avg(millis) > 110 AND count(*) >= 20
"""


def main() -> None:
    builder = SparkSession.builder.appName("monitoring").master("local[*]").config("spark.ui.enabled", "false")
    spark = phantoms.configure(builder).getOrCreate()
    # Twenty minutes of requests; one service is slow in one region from the eighth minute to the tenth.
    spark.sql(
        "SELECT ts, service, region, base + IF(service = 'cart' AND region = 'eu' AND minute IN (8, 9), 200, 0) "
        "AS millis FROM (SELECT timestamp_seconds(1767225600 + id * 0.0024) AS ts, id * 20 DIV 500000 AS minute, "
        "element_at(array('cart', 'login', 'search', 'pay'), (hash(id, 1) & 3) + 1) AS service, "
        "element_at(array('eu', 'us'), (hash(id, 2) & 1) + 1) AS region, 20 + (hash(id, 3) & 127) AS base "
        "FROM range(500000))"
    ).write.mode("overwrite").parquet("requests.parquet")
    spark.read.parquet("requests.parquet").createOrReplaceTempView("requests")

    alarms = spark.sql(ALARMS)
    print(phantoms.explain(alarms))
    alarms.orderBy("at", "service", "region").show(10, truncate=False)
    print(f"{alarms.count()} alarms")
    spark.stop()


if __name__ == "__main__":
    main()
