package io.phantoms.spark.source.export;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** What information elements are called: IANA's names where it has one, else the number. */
final class ElementNames {
  /** The enterprise number under which RFC 5103 has the elements of a flow's other direction. */
  private static final long REVERSE = 29305;

  /** Stands for the enterprise number 0 where a field says it: 0 itself is that of fields that say none, IANA's. */
  static final long ENTERPRISE_0 = 1L << 32;

  private static final String[] NAMES = read();

  private ElementNames() {}

  /** The name of an element; enterprise 0 is IANA, {@link #ENTERPRISE_0} is not. */
  static String of(long enterprise, int element) {
    String known = element < NAMES.length ? NAMES[element] : null;
    if (enterprise == 0) {
      return known == null ? "ie" + element : known;
    }
    if (enterprise == REVERSE && known != null) {
      return "reverse" + Character.toUpperCase(known.charAt(0)) + known.substring(1);
    }
    return "ie" + (enterprise & ~ENTERPRISE_0) + "." + element;
  }

  private static String[] read() {
    String[] names = new String[512];
    try (InputStream in = ElementNames.class.getResourceAsStream("elements");
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (!line.startsWith("#")) {
          int space = line.indexOf(' ');
          names[Integer.parseInt(line.substring(0, space))] = line.substring(space + 1);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return names;
  }
}
