-- What is left alone, and the code that says why.
-- tables: t

-- expect: declined ORDER_DEPENDENT
select a, b, first(c) from t group by cube(a, b);

-- expect: declined UNSUPPORTED_FUNCTION
select a, b, mode(c) from t group by cube(a, b);

-- expect: declined SINGLE_AGGREGATE
select a, count(*) from t group by a;

-- expect: untouched
select a, c from t where c > 10;

-- conf: spark.phantoms.groupingSets.enabled=false
-- expect: declined DISABLED
select a, b, count(*) from t group by cube(a, b);

-- conf: spark.phantoms.maxQueries=3
-- expect: declined TOO_MANY_QUERIES
select a, b, count(*) from t group by cube(a, b);

-- conf: spark.phantoms.exactFloatingPoint=true
-- expect: declined EXACT_FLOATING_POINT
select a, b, sum(x) from t group by cube(a, b);

-- conf: spark.phantoms.chooser=none
-- expect: declined NO_BENEFIT
select a, b, count(*) from t group by cube(a, b);
