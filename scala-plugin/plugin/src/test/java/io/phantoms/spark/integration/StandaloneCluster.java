package io.phantoms.spark.integration;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.master.Master$;
import org.apache.spark.deploy.worker.Worker$;
import org.apache.spark.rpc.RpcEnv;
import scala.Option;
import scala.Some;

/**
 * A standalone cluster in this process, its executors in processes of their own, as Spark's
 * {@code local-cluster} has it; but each worker is on a host of its own, since Spark runs no two
 * attempts at a task on one host. In Java, which sees the members that Scala holds private to Spark.
 */
final class StandaloneCluster {
  private final List<RpcEnv> environments = new ArrayList<>();

  /** What to give as {@code spark.master}. */
  final String master;

  /**
   * @param hosts names of this machine, one for each worker; the master takes the first
   * @param cores cores a worker
   * @param megabytes memory a worker
   * @param folder where the workers keep their files
   */
  StandaloneCluster(List<String> hosts, int cores, int megabytes, String folder) {
    SparkConf conf = new SparkConf(false);
    conf.set("spark.master.rest.enabled", "false");
    RpcEnv masterEnvironment =
        Master$.MODULE$.startRpcEnvAndEndpoint(hosts.get(0), 0, 0, conf)._1();
    environments.add(masterEnvironment);
    master = "spark://" + hosts.get(0) + ":" + masterEnvironment.address().port();
    String[] masters = {master};
    for (int i = 0; i < hosts.size(); i++) {
      environments.add(
          Worker$.MODULE$.startRpcEnvAndEndpoint(
              hosts.get(i),
              0,
              0,
              cores,
              megabytes,
              masters,
              folder + "/worker" + i,
              new Some<>(i),
              conf,
              Option.empty()));
    }
  }

  /** Workers first, so that they do not miss their master. */
  void stop() {
    for (int i = environments.size() - 1; i >= 0; i--) {
      environments.get(i).shutdown();
      environments.get(i).awaitTermination();
    }
    environments.clear();
  }
}
