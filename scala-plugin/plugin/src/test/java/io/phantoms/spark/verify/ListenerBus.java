package io.phantoms.spark.verify;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.util.JsonProtocol$;

/** Doors into Spark that Scala does not see. */
public final class ListenerBus {
  private ListenerBus() {}

  /** Returns when all listeners have heard of all that was posted. */
  public static void drain(SparkContext context) throws java.util.concurrent.TimeoutException {
    context.listenerBus().waitUntilEmpty();
  }

  /** The event after it was written to an event log and read from there. */
  public static SparkListenerEvent logged(SparkListenerEvent event) {
    return JsonProtocol$.MODULE$.sparkEventFromJson(JsonProtocol$.MODULE$.sparkEventToJsonString(event));
  }
}
