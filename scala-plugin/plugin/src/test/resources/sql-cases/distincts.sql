-- DISTINCT aggregates, alone, under conditions and under grouping sets.
-- tables: t, none

-- expect: shared
select a, count(distinct b), sum(distinct c), count(*), max(d) from t group by a;

-- expect: shared
select count(distinct a), count(distinct b, flag), avg(distinct sh) from t;

-- expect: shared
select count(distinct if(z > 0, b, null)), count(distinct if(flag, b, null)) from t;

-- expect: shared
select a, b, count(distinct dt), sum(c) from t group by cube(a, b);

-- Over nothing one row of zero and NULL.
-- expect: shared
select count(distinct a), sum(distinct c), count(distinct b) from none;

-- conf: spark.phantoms.distinct.enabled=false
-- expect: declined DISABLED
select a, count(distinct b), sum(distinct c) from t group by a;
