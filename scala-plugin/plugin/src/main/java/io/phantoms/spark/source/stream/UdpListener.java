package io.phantoms.spark.source.stream;

import java.io.Closeable;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.time.Instant;
import java.util.Arrays;

/**
 * Receives datagrams on a UDP port into a {@link DatagramRing}, by a thread of its own. What the kernel dropped
 * before it got here nobody can count.
 */
public final class UdpListener implements Closeable {
  /** No UDP payload is longer. */
  private static final int LONGEST = 65535;

  /** What is asked of the kernel for its own buffer: a burst while this thread does not run. */
  private static final int KERNEL_BUFFER = 8 << 20;

  private final DatagramSocket socket;
  private final DatagramRing ring;
  private final Thread thread;
  private volatile IOException failure;

  /**
   * Binds the port; {@link #start} begins to receive.
   *
   * @throws IOException if the address cannot be bound: names it and says what to do
   */
  public UdpListener(InetSocketAddress address, DatagramRing ring) throws IOException {
    this.ring = ring;
    this.socket = bound(address);
    this.thread = new Thread(this::receive, "lfta-listen-" + socket.getLocalPort());
    thread.setDaemon(true);
  }

  private static DatagramSocket bound(InetSocketAddress address) throws IOException {
    if (address.isUnresolved()) {
      throw new IOException(
          "listen: the host " + address.getHostString() + " is not known. Name an address of this machine.");
    }
    DatagramSocket socket = new DatagramSocket(null);
    try {
      socket.setReceiveBufferSize(KERNEL_BUFFER);
      socket.bind(address);
      return socket;
    } catch (SocketException e) {
      socket.close();
      throw new IOException(
          "listen: " + address.getHostString() + ":" + address.getPort() + " cannot be bound (" + e.getMessage()
              + "). Another listener may hold the port, or the address may not be the driver's.", e);
    }
  }

  public void start() {
    thread.start();
  }

  /** The port that is listened on: the one asked for, or the one the system chose for port 0. */
  public int port() {
    return socket.getLocalPort();
  }

  /** Why nothing is received any more, or null. */
  public IOException failure() {
    return failure;
  }

  private void receive() {
    DatagramPacket packet = new DatagramPacket(new byte[LONGEST], LONGEST);
    while (!socket.isClosed()) {
      try {
        packet.setLength(LONGEST);
        socket.receive(packet);
        byte[] bytes = Arrays.copyOf(packet.getData(), packet.getLength());
        ring.offer(HeldDatagram.of(bytes, packet.getAddress(), packet.getPort(), now()));
      } catch (IOException e) {
        if (!socket.isClosed()) {
          end(e);
        }
      } catch (RuntimeException | Error e) {
        // Of too little memory, say: the query is to end, not to wait for datagrams that nobody takes.
        end(new IOException(e.toString(), e));
      }
    }
  }

  private void end(IOException why) {
    failure = why;
    socket.close();
  }

  private static long now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  @Override
  public void close() {
    socket.close();
    try {
      thread.join(1000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
