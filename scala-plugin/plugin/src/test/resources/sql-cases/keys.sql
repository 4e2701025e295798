-- Keys of many types: NaN and zeros of both signs, decimals, times, structs.
-- tables: t

-- expect: shared
select x, f, count(*) from t group by cube(x, f);

-- expect: shared
select d, w, sum(d), avg(w) from t group by grouping sets ((d, w), (w));

-- expect: shared
select dt, tn, ym, max(ts) from t group by grouping sets ((dt, tn), (ym, dt), ());

-- expect: shared
select s, r, bin, count(*) from t group by grouping sets ((s, r), (bin), (s));

-- expect: declined UNSUPPORTED_KEY_TYPE
select k, count(*), sum(c) from (select collate(b, 'UTF8_LCASE') k, a, c from t) group by cube(k, a);
