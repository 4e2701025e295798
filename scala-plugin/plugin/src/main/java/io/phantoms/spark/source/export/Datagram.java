package io.phantoms.spark.source.export;

/** A datagram of an exporter as its carrier (a file, a capture, a socket) holds it: reused from one to the next. */
public interface Datagram {

  /** The array that the datagram is in; not changed before the next one is asked for. */
  byte[] bytes();

  /** Where in the array it begins. */
  int from();

  /** Its length in bytes. */
  int length();

  /** Where in the file it begins, in bytes after decompression; 0 where there is no file. */
  long offset();

  /** When it was captured or received, in nanoseconds since 1970; 0 where that is not known. */
  default long timeNanos() {
    return 0;
  }

  /** The upper 64 bits of the sender's IPv6 address; 0 for IPv4. */
  default long exporterHigh() {
    return 0;
  }

  /** The lower 64 bits of the sender's IPv6 address; the 32 bits of an IPv4 one. */
  default long exporterLow() {
    return 0;
  }

  /** The length in bytes of the sender's address: 4 or 16; 0 where it is not known. */
  default int exporterLength() {
    return 0;
  }

  /** The sender's UDP port; 0 where it is not known. */
  default int exporterPort() {
    return 0;
  }
}
