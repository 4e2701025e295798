package io.phantoms.spark.source.stream;

import io.phantoms.spark.source.export.ExportState;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * What a task decodes.
 *
 * @param datagrams in the order in which they came
 * @param state what their exporters had said before
 */
public record DatagramPartition(HeldDatagram[] datagrams, ExportState state) implements InputPartition {}
