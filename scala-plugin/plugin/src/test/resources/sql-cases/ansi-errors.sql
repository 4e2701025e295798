-- Errors that plain Spark raises are raised, and no others.
-- conf: spark.sql.ansi.enabled=true
-- conf: spark.sql.shuffle.partitions=1
create temporary view numbers as
select * from values (1, 1, 9223372036854775807L, 'one'), (1, 0, 1L, '2'), (2, 2, 5L, '3') v(a, z, big, text);

-- expect: shared
-- fails: DIVIDE_BY_ZERO
select a, z, sum(10 div z) from numbers group by cube(a, z);

-- expect: shared
-- fails: ARITHMETIC_OVERFLOW
select a, z, sum(big) from numbers group by rollup(a, z);

-- The rows that would fail are not there.
-- expect: shared
select a, z, sum(10 div z) from numbers where z <> 0 group by cube(a, z);

-- expect: shared
select a, z, try_sum(big), sum(try_cast(text as int)) from numbers group by cube(a, z);

-- expect: shared
-- fails: CAST_INVALID_INPUT
select a, sum(cast(text as int)) from numbers group by a
union all
select z, count(cast(text as int)) from numbers group by z;

-- Without ANSI mode a sum wraps around and a text that is no number is NULL.
-- conf: spark.sql.ansi.enabled=false
-- expect: shared
select a, z, sum(big), count(cast(text as int)), max(10 div z) from numbers group by cube(a, z);
