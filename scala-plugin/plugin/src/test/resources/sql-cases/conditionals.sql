-- Aggregates of one groupBy under conditions, and FILTER clauses: from eight different conditions on.
-- tables: t

-- expect: shared
select a,
       sum(if(z > 0, c, 0)), sum(if(z > 1, c, 0)), sum(if(by > 0, c, 0)), sum(if(by > 1, c, 0)),
       count(if(flag, 1, null)), count(if(n = 1, 1, null)), max(case when sh > 0 then c end), min(case when n > 1 then c end)
from t group by a;

-- expect: shared
select sum(c) filter (where z = 0), sum(c) filter (where z = 1), sum(c) filter (where z = 2), sum(c) filter (where n = 0),
       sum(c) filter (where n = 1), sum(c) filter (where n = 2), sum(c) filter (where flag), count(*) filter (where by > 0)
from t group by b;

-- Under grouping sets one condition is enough.
-- expect: shared
select a, b, sum(c) filter (where z > 0), count(*) from t group by rollup(a, b);

-- expect: declined SINGLE_AGGREGATE
select a, sum(if(z > 0, c, 0)), count(if(flag, 1, null)) from t group by a;

-- conf: spark.phantoms.predicates.enabled=false
-- expect: declined DISABLED
select sum(c) filter (where z = 0), sum(c) filter (where z = 1), sum(c) filter (where z = 2), sum(c) filter (where n = 0),
       sum(c) filter (where n = 1), sum(c) filter (where n = 2), sum(c) filter (where flag), count(*) filter (where by > 0)
from t group by b;
