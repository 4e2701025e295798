-- Windows over time, which slide and which tumble.
-- tables: t

-- expect: shared
select window.start, window.end, a, count(*), sum(c) from t group by window(ts, '60 minutes', '25 minutes'), a;

-- expect: shared
select w.start s, n from (select window(ts, '2 hours', '30 minutes', '10 minutes') w, count(*) n from t group by 1);

-- expect: shared
select window.start s, b, max(c) from t group by window(ts, '1 hour'), b
union all
select window.start, null, max(c) from t group by window(ts, '1 day');

-- expect: declined SINGLE_AGGREGATE
select window.start, count(*) from t group by window(ts, '1 hour');

-- A function over the rows of results.
-- expect: shared
select a, b, n, rank() over (partition by a order by n desc, b) r
from (select a, b, count(*) n from t group by cube(a, b));
