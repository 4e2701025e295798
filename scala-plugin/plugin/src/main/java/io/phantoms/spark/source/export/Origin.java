package io.phantoms.spark.source.export;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;

import io.phantoms.spark.source.ip.IpText;

/**
 * Where templates hold: an observation domain of one exporter, as the sender's address and port and the header say.
 *
 * @param addressLength 4, 16, or 0 where the sender is not known
 */
record Origin(long addressHigh, long addressLow, int addressLength, int port, int version, long domain)
    implements Serializable {

  static Origin of(Datagram d, int version, long domain) {
    return new Origin(d.exporterHigh(), d.exporterLow(), d.exporterLength(), d.exporterPort(), version, domain);
  }

  boolean matches(Datagram d, int otherVersion, long otherDomain) {
    return addressLow == d.exporterLow()
        && addressHigh == d.exporterHigh()
        && addressLength == d.exporterLength()
        && port == d.exporterPort()
        && version == otherVersion
        && domain == otherDomain;
  }

  /** As messages name it. */
  String text() {
    String of = "domain " + domain;
    return addressLength == 0 ? of
        : "exporter " + new String(IpText.of(addressLength, addressHigh, addressLow), StandardCharsets.US_ASCII)
            + ", port " + port + ", " + of;
  }
}
